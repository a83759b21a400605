package retest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/views"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/runs/outfile"
)

// job is one notebook to run, and the output that it is compared with.
type job struct {
	file     files.File
	path     string // of the source: file's, or that of the source beside it when file is an output
	source   []byte
	stored   string // path of the stored output; "" without one
	output   *stored
	updateTo string        // where a first output would be written
	reversed []string      // files of a change that is applied already, which the run begins without
	words    []string      // about that
	opened   *outfile.File // the target, for Update
	refused  error         // why it is not opened
}

// own reports whether the file that was named is the stored output.
func (j *job) own() bool { return j.stored == j.file.Path }

func (j *job) hasOutput() bool { return j.output != nil }

// target is where Update writes.
func (j *job) target() string {
	if j.stored != "" {
		return j.stored
	}
	return j.updateTo
}

// newJob reads one file. An output notebook is its own stored output. The job is nil where the file was found in a
// folder and is no notebook.
func (t *tester) newJob(file files.File) (*job, error) {
	source, out, err := t.read(file.Path)
	if err != nil {
		return nil, err
	}
	j := &job{file: file, path: file.Path, source: source}
	if out != nil {
		j.stored, j.output = file.Path, out
		if j.path = out.sourceBeside(file.Path); j.path == file.Path && out.jupyter == nil {
			j.path = out.sourceElsewhere(file.Path)
		}
		if files.IsScript(j.path, nil) { // lines and messages are those of the script
			if j.source, err = files.Notebook(j.path); err != nil {
				return nil, err
			}
		}
	}
	nb, err := forms.Parse(slashed(j.path), j.source)
	switch {
	case err != nil && !file.Named && !j.hasOutput():
		return nil, nil
	case err != nil:
		return nil, err
	case len(nb.Steps) == 0 && !j.hasOutput():
		return nil, nil
	}
	return j, nil
}

// lookUpOutput finds the stored output of a source: where run writes it by the settings of the repository, or else
// beside the source, as NAME.out.md.
func (t *tester) lookUpOutput(j *job) error {
	eng, repo, err := t.Engine(j.path)
	if err != nil {
		return err
	}
	ext := filepath.Ext(j.path)
	beside := strings.TrimSuffix(j.path, ext) + ".out" + ext
	if files.IsScript(j.path, j.source) {
		beside = strings.TrimSuffix(j.path, ext) + ".out.md"
	}
	candidates := []string{beside}
	j.updateTo = beside
	if output := eng.Config.Output; output != "" {
		req := t.Request
		req.Path, req.Source, req.Repository = slashed(j.path), j.source, engines.RootOf(repo)
		path, err := views.OutputPath(views.LikeSource(output, files.IsJupyter(j.path, j.source)), eng, req)
		switch {
		case err == nil:
			j.updateTo = path
			candidates = []string{path, beside}
		case j.file.Named: // the setting may not fit a file that was only found
			return err
		}
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_, out, err := t.read(path)
		if err != nil {
			return err
		}
		if out != nil {
			j.stored, j.output = path, out
			return nil
		}
	}
	return nil
}

// pairJobs removes output notebooks that another job is compared with. Where several sources share an output, it
// belongs to the source that it was made of.
func pairJobs(jobs []*job) []*job {
	claims := map[string][]*job{}
	for _, j := range jobs {
		if j.hasOutput() && !j.own() {
			claims[files.Absolute(j.stored)] = append(claims[files.Absolute(j.stored)], j)
		}
	}
	for _, sharing := range claims {
		if len(sharing) < 2 {
			continue
		}
		for _, j := range sharing {
			if !j.output.isOf(j.path, j.source) {
				j.stored, j.output = "", nil
			}
		}
	}
	return slices.DeleteFunc(jobs, func(j *job) bool {
		return j.own() && slices.ContainsFunc(claims[files.Absolute(j.stored)], (*job).hasOutput)
	})
}

// line maps a line of the source to the file that was named, which may be the output.
func (j *job) line(line int) int {
	if !j.own() || line == 0 || files.IsScript(j.path, nil) {
		return line
	}
	return j.output.line(line)
}

// place is FILE:LINE of a step, for messages.
func (j *job) place(line int) string {
	if line != 0 && files.IsScript(j.path, nil) {
		return place(slashed(j.path), line)
	}
	return place(slashed(j.file.Path), j.line(line))
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// sourceBeside is the source of an output notebook when it is in the same folder, else the output notebook itself.
// Interpreters name the notebook in their messages, and the new run must name the same one.
func (s *stored) sourceBeside(output string) string {
	if s.foreign() {
		return output
	}
	entries, err := os.ReadDir(filepath.Dir(output))
	if err != nil {
		return output
	}
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(output), e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > files.MaxNotebook || path == filepath.Clean(output) {
			continue
		}
		text := notebooks.IsMarkdownName(path) || files.IsScript(path, nil)
		if jupyter := s.jupyter != nil; text == jupyter || notebooks.IsJupyterName(path) != jupyter {
			continue
		}
		src, err := os.ReadFile(path)
		if err == nil && s.jupyter != nil {
			var nb *ipynb.Notebook
			if nb, err = ipynb.Parse(slashed(path), src); err == nil {
				src = ipynb.Source(nb, len(givenNames(s.jupyter)) > 0)
			}
		}
		if err == nil && s.isOf(path, src) {
			return path
		}
	}
	return output
}

// sourceElsewhere is the source of an output notebook when it is in another folder of the repository and the output
// names it, as the traceback of an interpreter does; else the output notebook itself.
func (s *stored) sourceElsewhere(output string) string {
	shown, _, _ := bytes.Cut(s.raw, []byte("<!-- markmill:manifest")) // which names the output itself
	if s.foreign() || bytes.Contains(shown, []byte(filepath.Base(output))) {
		return output
	}
	repo, err := worktree.Open(filepath.Dir(files.Absolute(output)))
	if err != nil {
		return output
	}
	checkout, err := repo.CheckoutFiles(context.Background())
	if err != nil {
		return output
	}
	defer checkout.Close()
	named, err := checkout.All(func(name string) bool {
		return (notebooks.IsMarkdownName(name) || files.IsScript(name, nil)) && bytes.Contains(shown, []byte(name))
	})
	if err != nil {
		return output
	}
	for _, path := range named {
		text, err := checkout.Read(path, files.MaxNotebook)
		if err != nil || !s.isOf(path, text) {
			continue
		}
		full := filepath.Join(repo.Root(), filepath.FromSlash(path))
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, full); err == nil {
				return rel
			}
		}
		return full
	}
	return output
}
