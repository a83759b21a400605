package client

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

	"markmill/cmd/internal/records"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/engine/worktree/exchange"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/outfile"
)

// askTime bounds the request for the commits of a remote repository.
const askTime = 20 * time.Second

// atOnce is how many files of a record are fetched in parallel: each takes a round trip to the server.
const atOnce = 4

// write writes files from the queue into a folder, and nowhere else.
func (c *Client) write(ctx context.Context, list []queue.File, to string) error {
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
			return errors.Join(c.Queue.Get(ctx, file, f), f.Close())
		})
	}
	return group.Wait()
}

// errThere says that the store has the record already.
var errThere = errors.New("it is there")

// fetch copies the record of an ended job into the store, as if it had run here, and writes OUTPUT. It returns the run;
// "" for a job without one.
func (c *Client) fetch(ctx context.Context, h *queue.History) (runs.RunID, error) {
	list := h.Record()
	if len(list) == 0 {
		return "", nil
	}
	store, id := runs.Store{Dir: c.Store}, h.Run
	err := store.Admit(id, func(to string) error {
		if err := c.write(ctx, list, to); err != nil {
			return err
		}
		got := runs.At(to)
		var src *worktree.Source
		if c.Root != "" {
			src, _ = worktree.Open(c.Root) // without it the commits are checked with the bundle alone
		}
		v, err := records.VerifyRecord(got, src, runs.Signers{})
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
	to, err := c.outputOf(h.ID)
	if err != nil {
		return "", err
	}
	return id, c.output(ctx, to, id)
}

// outputs is the folder where a store notes the OUTPUT of each job that it has submitted: what an entry says may come
// from anybody who may publish.
func (c *Client) outputs(job ...string) string { return c.dir(append([]string{"outputs"}, job...)...) }

// noteOutput notes the OUTPUT of a job, unless the store has one.
func (c *Client) noteOutput(spec *queue.Spec) error {
	if spec.Output == "" {
		return nil
	}
	if _, err := os.Lstat(c.outputs(spec.ID)); err == nil {
		return nil
	}
	err := queue.CheckOutput(spec.Output)
	if err == nil {
		err = os.MkdirAll(c.outputs(), 0o755)
	}
	if err != nil {
		return err
	}
	return runs.WriteFile(c.outputs(spec.ID), []byte(spec.Output))
}

// outputOf returns the absolute path of the OUTPUT of a job that this store has submitted; "" for none.
func (c *Client) outputOf(job string) (string, error) {
	text, err := os.ReadFile(c.outputs(job))
	if errors.Is(err, fs.ErrNotExist) || c.Root == "" {
		return "", nil
	}
	if err == nil {
		err = queue.CheckOutput(string(text))
	}
	return filepath.Join(c.Root, filepath.FromSlash(string(text))), err
}

// forgetOutputs removes the notes of jobs that are not in the queue any more.
func (c *Client) forgetOutputs(ctx context.Context) error {
	list, err := os.ReadDir(c.outputs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, note := range list {
		_, there, cerr := c.Queue.Current(ctx, note.Name())
		if err = errors.Join(err, cerr); cerr == nil && !there {
			err = errors.Join(err, os.Remove(c.outputs(note.Name())))
		}
	}
	return err
}

// output writes the output notebook of a run, with its pictures.
func (c *Client) output(ctx context.Context, to string, id runs.RunID) error {
	if to == "" {
		return nil
	}
	if done, err := c.asWritten(to, id); done || err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Program, "convert", runs.Store{Dir: c.Store}.Path(id), to)
	cmd.Dir = c.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("OUTPUT %s cannot be written: %w: %s", to, err, out)
	}
	return nil
}

// asWritten writes OUTPUT if the run wrote an output notebook in the same form. markmill convert would do the same, but
// takes longer to start.
func (c *Client) asWritten(to string, id runs.RunID) (bool, error) {
	record := runs.Store{Dir: c.Store}.Record(id)
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
		err = views.WritePictures(engine.ViewInput{Dir: record.Path(), Run: run}, file.Beside)
	}
	if err == nil {
		err = file.Write(text)
	}
	return true, err
}

// sendBase publishes the base commit of the job, unless the queue has it, or workers can fetch it because a branch or
// tag of the job's repository is that commit.
func (c *Client) sendBase(ctx context.Context, spec *queue.Spec) error {
	if spec.Repository != "" {
		asking, stop := context.WithTimeout(ctx, askTime)
		defer stop()
		if shows, err := exchange.Shows(asking, spec.Repository, spec.Base); shows && err == nil {
			return nil
		}
	}
	return c.Queue.PutBase(ctx, spec.Base, func(to io.Writer) error {
		return exchange.WriteBase(c.Root, spec.Base, to)
	})
}

// enqueue submits a job, with what its workers need. It reports whether it was made.
func (c *Client) enqueue(ctx context.Context, spec *queue.Spec) (*queue.Job, bool, error) {
	if c.Server.URL != "" { // workers elsewhere have no repository that has the commit
		if err := c.sendBase(ctx, spec); err != nil {
			return nil, false, err
		}
	}
	job, made, err := c.Queue.Submit(ctx, spec, time.Now().UTC())
	if err != nil || job.ID != spec.ID {
		return job, made, err
	}
	if !made && job.Notebook != spec.Request.Path {
		return nil, false, &notebooks.Error{Kind: notebooks.KindOption, File: plain.OneLine(spec.Request.Path),
			Msg:  fmt.Sprintf("job %s runs another notebook, %s", job.ID, plain.OneLine(job.Notebook)),
			Hint: "give another --key"}
	}
	return job, made, c.noteOutput(spec)
}
