package resume

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/render/plain"
	"markmill/runs"
)

// runBefore finds a run to go on from and completes its record. around is a file in its repository, or "-".
func runBefore(a *program.App, word, around, repository string) (*before, string, error) {
	eng, repo, err := a.EngineFor(around, repository)
	if err != nil {
		return nil, "", err
	}
	b := &before{eng: eng, root: engines.RootOf(repo)}
	store, err := a.Store(repo)
	if err != nil {
		return nil, "", err
	}
	id, dir, err := store.Find(word)
	if err != nil {
		if _, statErr := os.Stat(word); statErr == nil {
			err = program.Usagef("%s is a path, and RUN is the id of a run that is kept here: unpack an archive, or "+
				"copy a record, to %s", word, filepath.Join(files.Short(store.Path("")), "ID"))
		}
		return nil, "", err
	}
	if _, err := runs.At(dir).Reconcile(a.Now, records.Rebuild); err != nil {
		return nil, "", err
	}
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return nil, "", err
	}
	if was := run.Started.Repository; was != b.root && (b.root == "" || was == "" || !files.Same(was, b.root)) {
		return nil, "", program.Usagef("run %s worked on the repository %s, which is not the one here", id, was)
	}
	if base := run.Contract.BaseCommit; repo != nil && base != "" {
		if _, err := repo.Resolve(base); err != nil {
			return nil, "", program.Usagef("run %s cannot be continued: its base commit %s is not in the repository "+
				"any more; run the notebook again", id, base)
		}
	}
	return b, dir, nil
}

// lastOf is the newest run of a notebook.
func lastOf(store runs.Store, root, notebook string) (string, error) {
	entries, err := store.List()
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		at := e.Notebook
		if !filepath.IsAbs(at) {
			at = files.Absolute(filepath.Join(root, at))
		}
		if at == files.Absolute(notebook) || files.Same(at, notebook) {
			return string(e.ID), nil
		}
	}
	return "", program.Usagef("no run of %s is kept; markmill list shows the runs there are", program.Name(notebook))
}

// goOnFrom plans and runs the request of o, which goes on from a run.
func goOnFrom(ctx context.Context, a *program.App, was *before, output string, o *launch.Options) (err error) {
	if o.Req.ID, err = was.eng.NewID(o.Req.Path); err != nil {
		return err
	}
	if err := o.SetOutput(output); err != nil {
		return a.OutputHint(err, output)
	}
	o.Req.Observed = true
	plan, err := was.eng.Plan(ctx, o.Req)
	if err != nil {
		return err
	}
	if err := launch.CheckViews(a, plan, output); err != nil {
		return err
	}
	if o.Level() <= slog.LevelInfo {
		words := launch.GoOnWords(was.Run.ID, plan)
		if was.eng.Continues(plan) != "" {
			words += "; the agent goes on in its session"
		}
		fmt.Fprintln(a.Stderr, "markmill: "+plain.Line([]byte(words)))
		if names := was.Secrets(); len(names) > 0 {
			a.Tell("markmill: no record holds a secret, so whether %s is as it was cannot be checked\n",
				strings.Join(names, ", "))
		}
	}
	return launch.RunPlan(ctx, a, was.eng, plan, output, o)
}
