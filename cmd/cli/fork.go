package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/render/plain"
	"markmill/runs"
)

// runBefore finds a run to go on from and completes its record. around is a file in its repository, or "-".
func (a *app) runBefore(word, around, repository string) (*before, string, error) {
	eng, repo, err := a.engineFor(around, repository)
	if err != nil {
		return nil, "", err
	}
	b := &before{eng: eng, root: api.RootOf(repo)}
	store, err := a.store(repo)
	if err != nil {
		return nil, "", err
	}
	id, dir, err := store.Find(word)
	if err != nil {
		if _, statErr := os.Stat(word); statErr == nil {
			err = usagef("%s is a path, and RUN is the id of a run that is kept here: unpack an archive, or copy a "+
				"record, to %s", word, filepath.Join(files.Short(store.Path("")), "ID"))
		}
		return nil, "", err
	}
	if _, err := runs.At(dir).Reconcile(a.now, api.Rebuild); err != nil {
		return nil, "", err
	}
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return nil, "", err
	}
	if was := run.Started.Repository; was != b.root && (b.root == "" || was == "" || !files.Same(was, b.root)) {
		return nil, "", usagef("run %s worked on the repository %s, which is not the one here", id, was)
	}
	if base := run.Contract.BaseCommit; repo != nil && base != "" {
		if _, err := repo.Resolve(base); err != nil {
			return nil, "", usagef("run %s cannot be continued: its base commit %s is not in the repository any more; "+
				"run the notebook again", id, base)
		}
	}
	return b, dir, nil
}

// lastOf is the newest run of a notebook.
func lastOf(store runs.Store, notebook string) (string, error) {
	entries, err := store.List()
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Notebook == name(notebook) || files.Same(e.Notebook, notebook) {
			return string(e.ID), nil
		}
	}
	return "", usagef("no run of %s is kept; markmill list shows the runs there are", name(notebook))
}

// goOnFrom plans and runs the request of o, which goes on from a run.
func (a *app) goOnFrom(ctx context.Context, was *before, output string, o *runOptions) (err error) {
	if o.req.ID, err = was.eng.NewID(o.req.Path); err != nil {
		return err
	}
	if err := o.setOutput(output); err != nil {
		return a.outputHint(err, output)
	}
	o.req.Observed = true
	plan, err := was.eng.Plan(ctx, o.req)
	if err != nil {
		return err
	}
	if err := a.checkViews(plan, output); err != nil {
		return err
	}
	if o.level() <= slog.LevelInfo {
		words := goOnWords(was.Run.ID, plan)
		if was.eng.Continues(plan) != "" {
			words += "; the agent goes on in its session"
		}
		fmt.Fprintln(a.stderr, "markmill: "+plain.Line([]byte(words)))
		if names := was.Secrets(); len(names) > 0 {
			a.tell("markmill: no record holds a secret, so whether %s is as it was cannot be checked\n",
				strings.Join(names, ", "))
		}
	}
	return a.runPlan(ctx, was.eng, plan, output, o)
}

// goOnWords say where a run begins that goes on from another, why there, and which carried steps run again.
func goOnWords(id runs.RunID, plan *engine.Plan) string {
	carried, replayed, next := plan.Reused()
	verb, at, end := "going on from", " at ", " after its last step"
	if f := plan.Fork(); f != nil {
		verb = "a fork of"
		if f.Reuse != "" {
			verb, at, end = "carrying from", " up to ", ""
		}
	}
	words := verb + " run " + string(id)
	if next != "" {
		words += at + string(next)
	} else {
		words += end
	}
	if f := plan.Fork(); f != nil && f.Reason != "" {
		if f.Asked != "" {
			words += ", before " + string(f.Asked)
		}
		words += ": " + f.Reason
	}
	if len(carried) > 0 {
		words += "; carried over: " + plain.Some(carried, 3)
	}
	if len(replayed) > 0 {
		words += "; run again for their state only: " + plain.Some(replayed, 3)
	}
	return words
}
