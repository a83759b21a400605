package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"markmill/cmd/api"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/engine/worktree/exchange"
	"markmill/notebooks"
	"markmill/render"
	"markmill/runs"
	"markmill/runs/outfile"
)

// askTime bounds the request for the commits of a remote repository.
const askTime = 20 * time.Second

// atOnce is how many files of a record are fetched in parallel: each takes a round trip to the server.
const atOnce = 4

// write writes files from the queue into a folder, and nowhere else.
func (p *program) write(ctx context.Context, list []queue.File, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, file := range list {
		group.Go(func() error {
			name := filepath.FromSlash(file.Path)
			if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			return errors.Join(p.q.Get(ctx, file, f), f.Close())
		})
	}
	return group.Wait()
}

// errThere says that the store has the record already.
var errThere = errors.New("it is there")

// fetch copies the record of an ended job into the store, as if it had run here, and writes OUTPUT. It returns the run;
// "" for a job without one.
func (p *program) fetch(ctx context.Context, h *queue.History) (runs.RunID, error) {
	list := h.Record()
	if len(list) == 0 {
		return "", nil
	}
	store, id := runs.Store{Dir: p.Store}, h.Run
	err := store.Admit(id, func(to string) error {
		if err := p.write(ctx, list, to); err != nil {
			return err
		}
		got := runs.At(to)
		var src *worktree.Source
		if p.Root != "" {
			src, _ = worktree.Open(p.Root) // without it the commits are checked with the bundle alone
		}
		v, err := api.VerifyRecord(got, src, runs.Signers{})
		switch {
		case err != nil:
			return err
		case len(v.Findings) > 0 || v.Run == nil || v.Run.ID != id:
			return &notebooks.Error{Kind: notebooks.KindRecord, File: string(id),
				Msg: fmt.Sprintf("the record of job %s is refused: %v", h.ID, v.Findings)}
		}
		own := store.Record(id)
		if !own.Has("") {
			return nil
		}
		mine, err := own.Sums()
		if err != nil {
			return err
		}
		if theirs, err := got.Sums(); err != nil || mine != theirs {
			return errors.Join(err, &notebooks.Error{Kind: notebooks.KindRecord, File: own.Path(),
				Msg:  fmt.Sprintf("run %s is here with other bytes than the queue has, and is not replaced", id),
				Hint: "markmill verify shows whether the one here holds"})
		}
		return errThere
	})
	if err != nil && !errors.Is(err, errThere) {
		return "", err
	}
	to, err := p.outputOf(h.ID)
	if err != nil {
		return "", err
	}
	return id, p.output(ctx, to, id)
}

// outputs is the folder where a store notes the OUTPUT of each job that it has submitted: what an entry says may come
// from anybody who may publish.
func (p *program) outputs(job ...string) string { return p.dir(append([]string{"outputs"}, job...)...) }

// noteOutput notes the OUTPUT of a job, unless the store has one.
func (p *program) noteOutput(spec *queue.Spec) error {
	if spec.Output == "" {
		return nil
	}
	if _, err := os.Lstat(p.outputs(spec.ID)); err == nil {
		return nil
	}
	err := queue.CheckOutput(spec.Output)
	if err == nil {
		err = os.MkdirAll(p.outputs(), 0o755)
	}
	if err != nil {
		return err
	}
	return runs.WriteFile(p.outputs(spec.ID), []byte(spec.Output))
}

// outputOf returns the absolute path of the OUTPUT of a job that this store has submitted; "" for none.
func (p *program) outputOf(job string) (string, error) {
	text, err := os.ReadFile(p.outputs(job))
	if errors.Is(err, fs.ErrNotExist) || p.Root == "" {
		return "", nil
	}
	if err == nil {
		err = queue.CheckOutput(string(text))
	}
	return filepath.Join(p.Root, filepath.FromSlash(string(text))), err
}

// forgetOutputs removes the notes of jobs that are not in the queue any more.
func (p *program) forgetOutputs(ctx context.Context) error {
	list, err := os.ReadDir(p.outputs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, note := range list {
		_, there, cerr := p.q.Current(ctx, note.Name())
		if err = errors.Join(err, cerr); cerr == nil && !there {
			err = errors.Join(err, os.Remove(p.outputs(note.Name())))
		}
	}
	return err
}

// output writes the output notebook of a run, with its pictures.
func (p *program) output(ctx context.Context, to string, id runs.RunID) error {
	if to == "" {
		return nil
	}
	if done, err := p.asWritten(to, id); done || err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.Program, "convert", runs.Store{Dir: p.Store}.Path(id), to)
	cmd.Dir = p.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("OUTPUT %s cannot be written: %w: %s", to, err, out)
	}
	return nil
}

// asWritten writes OUTPUT if the run wrote an output notebook in the same form. markmill convert would do the same, but
// takes longer to start.
func (p *program) asWritten(to string, id runs.RunID) (bool, error) {
	record := runs.Store{Dir: p.Store}.Record(id)
	run, source, err := record.Load()
	if err != nil {
		return false, err
	}
	names := run.OutputFiles()
	i := slices.IndexFunc(names, func(n string) bool { return path.Ext(n) == strings.ToLower(filepath.Ext(to)) })
	if i < 0 {
		return false, nil
	}
	file, err := outfile.Open(to, engine.OutputRules(false))
	if err != nil {
		return false, fmt.Errorf("OUTPUT %w", err)
	}
	defer file.Close()
	text, err := render.RunOutput(names[i], run, source, record)
	for _, asset := range render.Assets(run) { // which the worker says
		if err == nil && !filepath.IsLocal(filepath.FromSlash(asset.To)) {
			err = fmt.Errorf("run %s puts the picture %s outside the folder of OUTPUT", id, asset.To)
		}
	}
	if err == nil && names[i] == runs.OutputFile {
		err = api.WritePictures(engine.ViewInput{Dir: record.Path(), Run: run}, file.Beside)
	}
	if err == nil {
		err = file.Write(text)
	}
	return true, err
}

// sendBase publishes the base commit of the job, unless the queue has it, or workers can fetch it because a branch or
// tag of the job's repository is that commit.
func (p *program) sendBase(ctx context.Context) error {
	if p.Spec.Repository != "" {
		asking, stop := context.WithTimeout(ctx, askTime)
		defer stop()
		if shows, err := exchange.Shows(asking, p.Spec.Repository, p.Spec.Base); shows && err == nil {
			return nil
		}
	}
	return p.q.PutBase(ctx, p.Spec.Base, func(to io.Writer) error {
		return exchange.WriteBase(p.Root, p.Spec.Base, to)
	})
}
