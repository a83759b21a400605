package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"markmill/notebooks"
)

// maxNotebook is how large a notebook may be, in bytes. Output notebooks are bounded a step, so
// that what is larger is a mistake of the path.
const maxNotebook = 64 << 20

// readNotebook reads the bytes of a notebook, "-" from standard input, and refuses in one line what
// cannot be one.
func (a *app) readNotebook(path string) ([]byte, error) {
	bad := func(format string, args ...any) error {
		return &notebooks.Error{Kind: notebooks.KindInput, File: path, Msg: fmt.Sprintf(format, args...)}
	}
	in := a.stdin
	if path != "-" {
		info, err := os.Stat(path)
		var pathErr *os.PathError
		switch {
		case errors.As(err, &pathErr):
			return nil, bad("cannot be read: %v", pathErr.Err)
		case info.IsDir():
			return nil, bad("is a directory, and a notebook is a file")
		case info.Mode().IsRegular() && info.Size() > maxNotebook:
			return nil, bad("has %d bytes, and a notebook has at most %d", info.Size(), maxNotebook)
		}
		if form := foreign(path); form != "" {
			return nil, bad("is a %s, which this version does not read; it reads Markdown (.md, .qmd, .Rmd)", form)
		}
		f, err := os.Open(path)
		if errors.As(err, &pathErr) {
			return nil, bad("cannot be read: %v", pathErr.Err)
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, maxNotebook+1))
	if err != nil {
		return nil, bad("cannot be read: %v", err)
	}
	if len(src) > maxNotebook {
		return nil, bad("has more than %d bytes, the most that a notebook has", maxNotebook)
	}
	return src, notebooks.CheckText(path, src)
}

// foreign names the kind of a file that is no Markdown, or "".
func foreign(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".ipynb":
		return "Jupyter notebook"
	case ".py", ".r", ".jl":
		return "percent script"
	}
	return ""
}

// readSource reads a notebook and takes its regions out. Damaged regions are refused, unless drop.
func (a *app) readSource(path string, drop bool) ([]byte, error) {
	src, err := a.readNotebook(path)
	if err != nil {
		return nil, err
	}
	got := notebooks.Strip(path, src)
	if len(got.Problems) > 0 && !drop {
		return nil, got.Problems
	}
	return got.Source, nil
}

// name is how messages and records call a path.
func name(path string) string {
	if path == "-" {
		return "-"
	}
	return filepath.ToSlash(path)
}
