package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs/outfile"
)

// write writes a notebook and checks it. One with mistakes, or without a step, is an error, and the file is again what
// it was: was, or not there. Of a notebook that had mistakes before, no more than these may be left.
func (s *server) write(ctx context.Context, doc NotebookDocument, text, was []byte) (answer, error) {
	nb, err := parsed(filepath.ToSlash(doc.Notebook), text)
	if err != nil {
		return answer{}, err
	}
	if len(nb.Steps) == 0 {
		return answer{}, fmt.Errorf("%s would have no step; a fence is a step by an id or a tag, such as "+
			"```bash {#try}", doc.Notebook)
	}
	before := 0
	if was != nil {
		if before, _, err = s.mistakes(ctx, doc.Notebook); err != nil {
			return answer{}, err
		}
	}
	full := filepath.Join(s.root, doc.Notebook)
	folders, err := makeFolders(filepath.Dir(full))
	if err == nil {
		err = replace(full, text)
	}
	errs := 0
	if err == nil {
		errs, doc.Check, err = s.mistakes(ctx, doc.Notebook)
	}
	if err == nil && errs > before {
		err = errors.New(found(doc.Check))
	}
	if err == nil {
		return answer{doc: made("mcp-notebook", doc), more: "Use check for all mistakes."}, nil
	}
	var undo error
	if was != nil {
		undo = replace(full, was)
	} else {
		if undo = os.Remove(full); errors.Is(undo, fs.ErrNotExist) {
			undo = nil
		}
		for _, folder := range folders {
			_ = os.Remove(folder) // somebody else may use it by now
		}
	}
	if undo != nil {
		return answer{}, fmt.Errorf("%w\nand the file cannot be made what it was: %w", err, undo)
	}
	return answer{}, fmt.Errorf("nothing is written: %w", err)
}

// replace gives a file these bytes.
func replace(path string, data []byte) error {
	file, err := outfile.Open(path, outfile.Rules{})
	if err != nil {
		return err
	}
	return errors.Join(file.Write(data), file.Close())
}

// makeFolders makes a folder and those above it, and lists what it made, the deepest first.
func makeFolders(folder string) (made []string, err error) {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, at)
	}
	return made, os.MkdirAll(folder, 0o755)
}

// mistakes is what check finds in a notebook.
func (s *server) mistakes(ctx context.Context, path string) (errs int, doc codec.Raw, err error) {
	if doc, err = s.Document(ctx, "check", "--json", "--", path); err != nil {
		return 0, nil, err
	}
	var counts struct {
		Errors int `json:"errors"`
	}
	err = codec.Unmarshal(doc, &counts)
	return counts.Errors, doc, err
}

// found are the mistakes of a document of check, a line for each.
func found(check codec.Raw) string {
	var doc struct {
		Findings []struct {
			File     string `json:"file"`
			Line     int    `json:"line"`
			Severity string `json:"severity"`
			Message  string `json:"message"`
			Hint     string `json:"hint"`
		} `json:"findings"`
	}
	if err := codec.Unmarshal(check, &doc); err != nil {
		return err.Error()
	}
	var lines []string
	for _, f := range doc.Findings {
		if f.Severity == "error" && len(lines) < shownLines {
			line := fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
			if f.Hint != "" {
				line += "; " + f.Hint
			}
			lines = append(lines, plain.OneLine(plain.Cut(line, 1000)))
		}
	}
	return strings.Join(lines, "\n")
}
