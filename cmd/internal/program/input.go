package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/remote"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/runs/outfile"
)

// MaxParams is how large a file of parameters, rules or signatures may be, in bytes.
const MaxParams = 64 << 20

// ReadInput reads a file that the user named, or standard input for "-", of at most so many bytes; see files.Read.
func (in *input) ReadInput(path, what string, most int64) ([]byte, error) {
	if path == "-" {
		return files.ReadAtMost(in.Stdin, what, 0, most)
	}
	return files.Read(in.Path(path), what, most)
}

// ReadAny reads a notebook of any form: a file, standard input for "-", or an address. It refuses in one line what
// cannot be a notebook.
func (in *input) ReadAny(path string) ([]byte, error) {
	most := int64(files.MaxJupyter)
	if !JupyterName(path) && path != "-" {
		most = files.MaxNotebook
	}
	if in.most > 0 {
		most = min(most, in.most)
	}
	src, err := in.ReadBytes(path, most)
	if err != nil {
		return nil, err
	}
	return src, files.Check(Name(path), src)
}

func JupyterName(path string) bool { return notebooks.IsJupyterName(Name(path)) }

func IsJupyter(path string, src []byte) bool { return files.IsJupyter(Name(path), src) }

func IsScript(path string, src []byte) bool { return files.IsScript(Name(path), src) }

func BadInput(path, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: Name(path), Msg: fmt.Sprintf(format, args...)}
}

// Remote is a client for addresses, with the credentials of the environment.
func (in *input) Remote() remote.Client {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir() // where no credentials are
	}
	return remote.Client{Getenv: in.Getenv, Home: home}
}

// ReadBytes reads a file, "-" standard input, or what is at an address, of at most so many bytes.
func (in *input) ReadBytes(path string, most int64) ([]byte, error) {
	if remote.Is(path) {
		client := in.Remote()
		if JupyterName(path) {
			client.Begin = func(head []byte) error { return beginsJupyter(path, head) }
		}
		return client.Read(context.Background(), path, most)
	}
	b, err := in.ReadInput(path, "a notebook", most)
	return b, files.ReadError(path, err)
}

// beginsJupyter returns an error when the first bytes cannot be those of a Jupyter notebook.
func beginsJupyter(path string, head []byte) error {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if begin := bytes.TrimSpace(head); len(begin) == 0 || begin[0] == '{' {
		return nil
	}
	_, err := ipynb.Parse(Name(path), head)
	return err
}

// ReadSource reads the source of a notebook: without the outputs of earlier runs. Damaged regions of a Markdown
// notebook are an error, unless drop is set. given says that values are given: then the cells with values of an earlier
// run are removed as well.
func (in *input) ReadSource(path string, drop, given bool) ([]byte, error) {
	src, _, err := in.ReadRun(path, drop, given)
	return src, err
}

// ReadRun is ReadSource; madeOf is the path of the source, when the notebook is the output of another.
func (in *input) ReadRun(path string, drop, given bool) (source []byte, madeOf string, err error) {
	src, err := in.ReadAny(path)
	if err != nil {
		return nil, "", err
	}
	return SourceOf(path, src, drop, given)
}

// SourceOf is ReadRun of a notebook that is read.
func SourceOf(path string, src []byte, drop, given bool) (source []byte, madeOf string, err error) {
	source, err = forms.Source(Name(path), src, given)
	if err != nil && !(drop && source != nil) {
		return nil, "", err
	}
	return source, forms.MadeOf(Name(path), src), nil
}

// ReadRunnable is ReadRun of a notebook that is to run: see runnable.
func (in *input) ReadRunnable(path string, drop, given bool) (source []byte, madeOf string, err error) {
	source, madeOf, err = in.ReadRun(path, drop, given)
	if err == nil {
		source, err = in.Runnable(path, source, given)
	}
	return source, madeOf, err
}

// Runnable upgrades an old Jupyter notebook to nbformat 4.5, which a run can write. Errors have the lines of the file.
func (in *input) Runnable(path string, src []byte, given bool) ([]byte, error) {
	if !IsJupyter(path, src) {
		return src, nil
	}
	nb, err := ipynb.Parse(Name(path), src)
	if err != nil || nb.NBFormat == 4 {
		return src, err
	}
	if _, err := nb.Runnable(); err != nil {
		return nil, err
	}
	up, err := nb.Upgraded()
	if err != nil {
		return nil, BadInput(path, "has nbformat %d, and cannot be upgraded to 4.5: %v", nb.NBFormat, err)
	}
	return forms.Source(Name(path), up, given)
}

// Name is a path as messages and records show it: an address without anything that may be a credential.
func Name(path string) string {
	switch {
	case path == "-":
		return "-"
	case remote.Is(path):
		return remote.Name(path)
	}
	return filepath.ToSlash(path)
}

// WriteResult writes the result of a command to a path or address; "" and "-" are standard output. what names the
// argument or option. Beside a file it writes the pictures of runs.
func (a *App) WriteResult(what, path string, data []byte, pictures ...engine.ViewInput) error {
	file, err := a.OpenOutput(what, path)
	if err != nil {
		return err
	}
	defer file.Close()
	return a.WriteOpened(file, path, data, pictures...)
}

// WriteOpened is WriteResult with the file that OpenOutput returned for the path before the first step.
func (a *App) WriteOpened(file *outfile.File, path string, data []byte, pictures ...engine.ViewInput) error {
	switch {
	case path == "" || path == "-":
		return a.ShownText(data)
	case remote.Is(path):
		return a.Remote().Write(context.Background(), path, data)
	}
	for _, in := range pictures {
		if err := views.WritePictures(in, file.Beside); err != nil {
			return err
		}
	}
	return file.Write(data)
}

// ForceFlag is --force, by which a person at a terminal names a file that outputs may not be.
func (w *World) ForceFlag(f *pflag.FlagSet) {
	f.BoolFunc("force", "also overwrite settings, workflows and what the policy forbids, as a person at a terminal",
		func(string) error {
			if in, ok := w.Stdin.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
				return errors.New("standard input is no terminal, so no person insists")
			}
			w.Force = true
			return nil
		})
}

// outputRules say where the command may write for the user.
func (w *World) outputRules() outfile.Rules {
	rules := engine.OutputRules(w.Force)
	rules.Held = w.held
	return rules
}

// HoldOutput decides where an output goes, also for later runs of this command. It may have placeholders.
func (w *World) HoldOutput(path string) error {
	if path == "" || path == "-" || remote.Is(path) {
		return nil
	}
	folder := filepath.Dir(path)
	if views.HasPlaceholders(path) {
		folder = views.FixedFolder(path)
	}
	return w.held.Hold(folder)
}

// OpenOutput opens a file to be written for the user; nil for standard output, an address and none. what names the
// argument or option.
func (w *World) OpenOutput(what, path string) (*outfile.File, error) {
	if path == "" || path == "-" || remote.Is(path) {
		return nil, nil
	}
	file, err := outfile.Open(w.Path(path), w.outputRules())
	return file, refusedTarget(what, err)
}

// CheckTarget returns an error when a command cannot or must not write to a path. what names the argument or option.
func (w *World) CheckTarget(what, path string) error {
	if path == "" || path == "-" || remote.Is(path) {
		return nil
	}
	return refusedTarget(what, outfile.Check(path, w.outputRules()))
}

func refusedTarget(what string, err error) error {
	if err == nil {
		return nil
	}
	return Usagef("%s %w", what, err)
}

// OutputName is OUTPUT in the record: an absolute path or an address; "" without one.
func OutputName(output string) (string, error) {
	switch {
	case remote.Is(output):
		return Name(output), nil
	case output == "" || output == "-":
		return "", nil
	}
	return filepath.Abs(output)
}
