package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/markmill/remote"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/runs/outfile"
)

// maxParams is how large a file of parameters, rules or signatures may be, in bytes.
const maxParams = 64 << 20

// readInput reads a file that the user named, or standard input for "-", of at most so many bytes; see files.Read.
func (in *input) readInput(path, what string, most int64) ([]byte, error) {
	if path == "-" {
		return files.ReadAtMost(in.stdin, what, 0, most)
	}
	return files.Read(path, what, most)
}

// readAny reads a notebook of any form: a file, standard input for "-", or an address. It refuses in one line what
// cannot be a notebook.
func (in *input) readAny(path string) ([]byte, error) {
	most := int64(files.MaxJupyter)
	if !jupyterName(path) && path != "-" {
		most = files.MaxNotebook
	}
	src, err := in.readBytes(path, most)
	if err != nil {
		return nil, err
	}
	return src, files.Check(name(path), src)
}

func jupyterName(path string) bool { return notebooks.IsJupyterName(name(path)) }

func isJupyter(path string, src []byte) bool { return files.IsJupyter(name(path), src) }

func isScript(path string, src []byte) bool { return files.IsScript(name(path), src) }

func badInput(path, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: name(path), Msg: fmt.Sprintf(format, args...)}
}

// remote is a client for addresses, with the credentials of the environment.
func (in *input) remote() remote.Client {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir() // where no credentials are
	}
	return remote.Client{Getenv: in.getenv, Home: home}
}

// readBytes reads a file, "-" standard input, or what is at an address, of at most so many bytes.
func (in *input) readBytes(path string, most int64) ([]byte, error) {
	if remote.Is(path) {
		client := in.remote()
		if jupyterName(path) {
			client.Begin = func(head []byte) error { return beginsJupyter(path, head) }
		}
		return client.Read(context.Background(), path, most)
	}
	b, err := in.readInput(path, "a notebook", most)
	return b, files.ReadError(path, err)
}

// beginsJupyter returns an error when the first bytes cannot be those of a Jupyter notebook.
func beginsJupyter(path string, head []byte) error {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if begin := bytes.TrimSpace(head); len(begin) == 0 || begin[0] == '{' {
		return nil
	}
	_, err := ipynb.Parse(name(path), head)
	return err
}

// readSource reads the source of a notebook: without the outputs of earlier runs. Damaged regions of a Markdown
// notebook are an error, unless drop is set. given says that values are given: then the cells with values of an earlier
// run are removed as well.
func (in *input) readSource(path string, drop, given bool) ([]byte, error) {
	src, _, err := in.readRun(path, drop, given)
	return src, err
}

// readRun is readSource; madeOf is the path of the source, when the notebook is the output of another.
func (in *input) readRun(path string, drop, given bool) (source []byte, madeOf string, err error) {
	src, err := in.readAny(path)
	if err != nil {
		return nil, "", err
	}
	return sourceOf(path, src, drop, given)
}

// sourceOf is readRun of a notebook that is read.
func sourceOf(path string, src []byte, drop, given bool) (source []byte, madeOf string, err error) {
	source, err = forms.Source(name(path), src, given)
	if err != nil && !(drop && source != nil) {
		return nil, "", err
	}
	return source, forms.MadeOf(name(path), src), nil
}

// readRunnable is readRun of a notebook that is to run: see runnable.
func (in *input) readRunnable(path string, drop, given bool) (source []byte, madeOf string, err error) {
	source, madeOf, err = in.readRun(path, drop, given)
	if err == nil {
		source, err = in.runnable(path, source, given)
	}
	return source, madeOf, err
}

// runnable upgrades an old Jupyter notebook to nbformat 4.5, which a run can write. Errors have the lines of the file.
func (in *input) runnable(path string, src []byte, given bool) ([]byte, error) {
	if !isJupyter(path, src) {
		return src, nil
	}
	nb, err := ipynb.Parse(name(path), src)
	if err != nil || nb.NBFormat == 4 {
		return src, err
	}
	if _, err := nb.Runnable(); err != nil {
		return nil, err
	}
	up, err := nb.Upgraded()
	if err != nil {
		return nil, badInput(path, "has nbformat %d, and cannot be upgraded to 4.5: %v", nb.NBFormat, err)
	}
	return forms.Source(name(path), up, given)
}

// name is a path as messages and records show it: an address without anything that may be a credential.
func name(path string) string {
	switch {
	case path == "-":
		return "-"
	case remote.Is(path):
		return remote.Name(path)
	}
	return filepath.ToSlash(path)
}

// writeResult writes the result of a command to a path or address; "" and "-" are standard output. what names the
// argument or option. Beside a file it writes the pictures of runs.
func (a *app) writeResult(what, path string, data []byte, pictures ...engine.ViewInput) error {
	file, err := a.openOutput(what, path)
	if err != nil {
		return err
	}
	defer file.Close()
	return a.writeOpened(file, path, data, pictures...)
}

// writeOpened is writeResult with the file that openOutput returned for the path before the first step.
func (a *app) writeOpened(file *outfile.File, path string, data []byte, pictures ...engine.ViewInput) error {
	switch {
	case path == "" || path == "-":
		return a.shownText(data)
	case remote.Is(path):
		return a.remote().Write(context.Background(), path, data)
	}
	for _, in := range pictures {
		if err := api.WritePictures(in, file.Beside); err != nil {
			return err
		}
	}
	return file.Write(data)
}

// forceFlag is --force, by which a person at a terminal names a file that outputs may not be.
func (w *world) forceFlag(f *pflag.FlagSet) {
	f.BoolFunc("force", "also overwrite settings, workflows and what the policy forbids, as a person at a terminal",
		func(string) error {
			if in, ok := w.stdin.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
				return errors.New("standard input is no terminal, so no person insists")
			}
			w.force = true
			return nil
		})
}

// outputRules say where the command may write for the user.
func (w *world) outputRules() outfile.Rules {
	rules := engine.OutputRules(w.force)
	rules.Held = w.held
	return rules
}

// holdOutput decides where an output goes, also for later runs of this command. It may have placeholders.
func (w *world) holdOutput(path string) error {
	if path == "" || path == "-" || remote.Is(path) {
		return nil
	}
	folder := filepath.Dir(path)
	if api.HasPlaceholders(path) {
		folder = api.FixedFolder(path)
	}
	return w.held.Hold(folder)
}

// openOutput opens a file to be written for the user; nil for standard output, an address and none. what names the
// argument or option.
func (w *world) openOutput(what, path string) (*outfile.File, error) {
	if path == "" || path == "-" || remote.Is(path) {
		return nil, nil
	}
	file, err := outfile.Open(path, w.outputRules())
	return file, refusedTarget(what, err)
}

// checkTarget returns an error when a command cannot or must not write to a path. what names the argument or option.
func (w *world) checkTarget(what, path string) error {
	if path == "" || path == "-" || remote.Is(path) {
		return nil
	}
	return refusedTarget(what, outfile.Check(path, w.outputRules()))
}

func refusedTarget(what string, err error) error {
	if err == nil {
		return nil
	}
	return usagef("%s %w", what, err)
}
