package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"markmill/cmd/markmill/remote"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
)

// maxNotebook is how large a notebook may be, in bytes. Output notebooks are bounded a step, so
// that what is larger is a mistake of the path.
const maxNotebook = 64 << 20

// maxJupyter is how large a Jupyter notebook may be, in bytes: pictures and tables stand in the file itself.
const maxJupyter = 1 << 30

// readAny reads the bytes of a notebook of any form, "-" from standard input, and refuses in one line what cannot be
// one.
func (a *app) readAny(path string) ([]byte, error) {
	most := int64(maxJupyter)
	if !jupyterName(path) && path != "-" {
		most = maxNotebook
	}
	src, err := a.readBytes(path, most)
	switch {
	case err != nil:
		return nil, err
	case isJupyter(path, src): // its reader looks at the text
		return src, nil
	case len(src) > maxNotebook:
		return nil, badInput(path, "has %d bytes, and a notebook has at most %d", len(src), maxNotebook)
	}
	return src, notebooks.CheckText(name(path), src)
}

func jupyterName(path string) bool { return notebooks.IsJupyterName(name(path)) }

// isJupyter says whether bytes are a Jupyter notebook: by the name, or where the name says nothing, by what
// they begin with.
func isJupyter(path string, src []byte) bool {
	return forms.IsJupyter(name(path), src)
}

func badInput(path, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: name(path), Msg: fmt.Sprintf(format, args...)}
}

// remote reads and writes at addresses, with what the environment holds.
func (a *app) remote() remote.Client {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir() // where no credentials are
	}
	return remote.Client{Getenv: a.getenv, Home: home}
}

// readBytes reads a file, "-" standard input, or what is at an address, of at most so many bytes.
func (a *app) readBytes(path string, most int64) ([]byte, error) {
	if remote.Is(path) {
		client := a.remote()
		if jupyterName(path) {
			client.Begin = func(head []byte) error { return beginsJupyter(path, head) }
		}
		return client.Read(context.Background(), path, most)
	}
	b, err := a.readInput(path, "a notebook", most)
	return b, badRead(path, err)
}

// beginsJupyter refuses what cannot be a Jupyter notebook by how it begins.
func beginsJupyter(path string, head []byte) error {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if begin := bytes.TrimSpace(head); len(begin) == 0 || begin[0] == '{' {
		return nil
	}
	_, err := ipynb.Parse(name(path), head)
	return err
}

// isScript says whether bytes are a script with cells, by the name or what they begin with.
func isScript(path string, src []byte) bool { return forms.IsPercent(name(path), src) }

// readSource reads a notebook as a run takes it: without what earlier runs left in it. Damaged regions of a Markdown
// notebook are refused, unless drop. given says that values are given: then the cells of those of an earlier run go,
// too.
func (a *app) readSource(path string, drop, given bool) ([]byte, error) {
	src, _, err := a.readRun(path, drop, given)
	return src, err
}

// readRun is readSource, and the path of the source where the notebook is an output of another.
func (a *app) readRun(path string, drop, given bool) (source []byte, madeOf string, err error) {
	src, err := a.readAny(path)
	if err != nil {
		return nil, "", err
	}
	if isScript(path, src) { // no run leaves anything in it
		return src, "", nil
	}
	madeOf = forms.MadeOf(name(path), src)
	if isJupyter(path, src) {
		source, err = jupyterSource(path, src, given)
		return source, madeOf, err
	}
	got := notebooks.Strip(name(path), src)
	if len(got.Problems) > 0 && !drop {
		return nil, "", got.Problems
	}
	return got.Source, madeOf, nil
}

// jupyterSource takes what runs left out of a Jupyter notebook, Jupyter's own too: a run begins without outputs.
func jupyterSource(path string, src []byte, given bool) ([]byte, error) {
	nb, err := ipynb.Parse(name(path), src)
	if err != nil {
		return nil, err
	}
	return ipynb.Source(nb, given), nil
}

// runnable makes of an old Jupyter notebook one of nbformat 4.5, which a run can write. What is wrong with it is told
// with the places of the file.
func (a *app) runnable(path string, src []byte, given bool) ([]byte, error) {
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
		return nil, badInput(path, "is of nbformat %d, and cannot be made one of 4.5: %v", nb.NBFormat, err)
	}
	return jupyterSource(path, up, given)
}

// name is how messages and records call a path: an address without what may be a credential.
func name(path string) string {
	switch {
	case path == "-":
		return "-"
	case remote.Is(path):
		return remote.Name(path)
	}
	return filepath.ToSlash(path)
}
