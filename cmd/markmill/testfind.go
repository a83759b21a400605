package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/percent"
)

// testFile is a file that was named or found.
type testFile struct {
	path  string
	named bool // on the command line, by itself
}

// findTests lists the files of paths: files, folders (all notebooks below them), and patterns, which a shell that does
// not know them leaves to us.
func findTests(paths []string) (files []testFile, err error) {
	seen := map[string]bool{}
	add := func(path string, named bool) {
		abs, err := filepath.Abs(path)
		if err != nil {
			abs = path
		}
		if !seen[abs] {
			seen[abs] = true
			files = append(files, testFile{path, named})
		}
	}
	for _, path := range paths {
		if path == "-" {
			return nil, usagef("test takes files and folders; standard input has no place where its stored output could be")
		}
		info, err := os.Stat(path)
		matches := []string{path}
		pattern := errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[")
		switch {
		case pattern && strings.Contains(path, "**"):
			return nil, usagef("%s: ** is not understood; give the folder, all of it is looked through", path)
		case pattern:
			if matches, err = filepath.Glob(path); err != nil || len(matches) == 0 {
				return nil, usagef("no file matches %s", path)
			}
		case err != nil:
			return nil, usagef("%v", err)
		case !info.IsDir():
			add(path, true)
			continue
		}
		for _, match := range matches {
			err := filepath.WalkDir(match, func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case d.IsDir() && path != match && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
					return fs.SkipDir
				case d.IsDir():
				case isMarkdown(path), jupyterName(path), hasCells(path):
					add(path, false)
				}
				return nil
			})
			if err != nil {
				return nil, usagef("%v", err)
			}
		}
	}
	return files, nil
}

// hasCells says whether a file is a script with cells. Other scripts are no notebooks, unless they are named.
func hasCells(path string) bool {
	lang, ok := percent.LanguageOf(path)
	if info, err := os.Stat(path); !ok || err != nil || !info.Mode().IsRegular() || info.Size() > maxNotebook {
		return false
	}
	src, err := os.ReadFile(path)
	return err == nil && percent.Marked(lang, src)
}

func isMarkdown(path string) bool { return notebooks.IsMarkdownName(path) }

// testJob is one notebook to run, and the output that it is held against.
type testJob struct {
	file     testFile
	path     string // of the source: file's, or that of the file beside it whose output file is
	source   []byte
	stored   string // path of the output notebook; "" without one
	output   *storedOutput
	updateTo string   // where a first output would go
	reversed []string // files of a change that is applied already, without which the run begins
	words    []string // about that
}

// own says that the notebook is its own stored output.
func (j *testJob) own() bool { return j.stored == j.file.path }

// hasOutput says that outputs of a run are stored.
func (j *testJob) hasOutput() bool { return j.output != nil }

// target is where --update writes.
func (j *testJob) target() string {
	if j.stored != "" {
		return j.stored
	}
	return j.updateTo
}

// newJob reads one file. An output notebook is its own stored output. The job is nil where the file is no notebook
// and was only found.
func (t *tester) newJob(file testFile) (*testJob, error) {
	source, out, err := t.readTest(file.path)
	if err != nil {
		return nil, err
	}
	j := &testJob{file: file, path: file.path, source: source}
	if out != nil {
		j.stored, j.output = file.path, out
		if j.path = out.sourceBeside(file.path); j.path == file.path && out.jupyter == nil {
			j.path = t.sourceElsewhere(file.path, out)
		}
		if isScript(j.path, nil) { // its lines and its messages are those of the script
			if j.source, err = t.readAny(j.path); err != nil {
				return nil, err
			}
		}
	}
	nb, err := forms.Parse(name(j.path), j.source)
	switch {
	case err != nil && !file.named && !j.hasOutput():
		return nil, nil
	case err != nil:
		return nil, err
	case len(nb.Steps) == 0 && !j.hasOutput():
		return nil, nil
	}
	return j, nil
}

// findStored looks for the output of a source: where run writes it by the repository's settings, or else beside it, as
// NAME.out.md.
func (t *tester) findStored(j *testJob, eng *engine.Engine, req engine.Request) error {
	ext := filepath.Ext(j.path)
	beside := strings.TrimSuffix(j.path, ext) + ".out" + ext
	if isScript(j.path, j.source) {
		beside = strings.TrimSuffix(j.path, ext) + ".out.md"
	}
	candidates := []string{beside}
	j.updateTo = beside
	if output := eng.Config.Output; output != "" {
		path, err := t.outputPath(likeSource(output, isJupyter(j.path, j.source)), &runOptions{req: req}, eng)
		switch {
		case err == nil:
			j.updateTo = path
			candidates = []string{path, beside}
		case j.file.named: // of a file that was only found, the path may be for others
			return err
		}
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_, out, err := t.readTest(path)
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

// pairJobs leaves out output notebooks that another job is held against. Where several sources would be held against
// one, it is that of the source that it is of.
func pairJobs(jobs []*testJob) []*testJob {
	claims := map[string][]*testJob{}
	for _, j := range jobs {
		if j.hasOutput() && !j.own() {
			claims[absolute(j.stored)] = append(claims[absolute(j.stored)], j)
		}
	}
	for _, sharing := range claims {
		if len(sharing) < 2 {
			continue
		}
		for _, j := range sharing {
			if !j.output.of(j.path, j.source) {
				j.stored, j.output = "", nil
			}
		}
	}
	return slices.DeleteFunc(jobs, func(j *testJob) bool {
		return j.own() && slices.ContainsFunc(claims[absolute(j.stored)], func(other *testJob) bool { return other.hasOutput() })
	})
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// line is where a line of the source stands in the file that was named, which may be its output.
func (j *testJob) line(line int) int {
	if !j.own() || line == 0 || isScript(j.path, nil) {
		return line
	}
	return j.output.line(line)
}

// place is where a step stands, for messages.
func (j *testJob) place(line int) string {
	if line == 0 {
		return name(j.file.path)
	}
	if isScript(j.path, nil) {
		return fmt.Sprintf("%s:%d", name(j.path), line)
	}
	return fmt.Sprintf("%s:%d", name(j.file.path), j.line(line))
}
