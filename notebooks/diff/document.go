package diff

import (
	"strings"
	"time"

	"markmill/notebooks/codec"
)

// Document is a notebook, an output notebook or a run, as it is compared. Every string is valid UTF-8.
type Document struct {
	Name    string   // as the user gave it
	Form    string   // how it is written: "markmill", "jupytext", "jupyter", …
	Status  string   // of the run: "pass", "fail", "blocked", …; "" of a source
	Source  string   // "sha256:…" of the source notebook; "" where it is not known
	Params  []Param  // in the order of the notebook
	Options []Field  // of the front matter, or the notebook's metadata
	Cells   []Cell   // steps, and the prose between them
	Notes   []string // what a reader of the comparison should know: "the region of fetch was edited"
}

// Param is a parameter and its value: the one that the run used, else the default.
type Param struct {
	Name  string
	Type  string
	Value codec.Raw // nil without one
}

// Field is one named setting or piece of metadata.
type Field struct {
	Name     string
	Value    codec.Raw
	Volatile bool // changes without anybody having meant it: compared with Options.All only
}

// CellKind is what a cell is.
type CellKind string

const (
	Code     CellKind = "code"
	Markdown CellKind = "markdown"
	Raw      CellKind = "raw"
)

// Cell is a step, or prose.
type Cell struct {
	// ID is the cell's own id; "" where it has none (the id of its place is only in Label).
	ID string
	// GeneratedID says that a program made the ID, as Jupyter does: another program may have made
	// another for the same cell, and that is no change.
	GeneratedID bool
	Label       string // what to call the cell: its id, or "step-3", "text-2", "cell-7"
	Kind        CellKind
	Lang        string
	Source      string
	Line        int // of the first line of Source in the notebook's file, from 1; 0 where it has none
	Tags        []string
	Options     []Field

	Status  string // pass, fail, allowed, skip, timeout, pending; "" where nothing ran
	Words   string // how it ended, where the status does not say it: "exit 1", "ValueError"
	Tests   *Tests
	Outputs []Output
	Scraps  []Scrap
	Files   []FilePatch // what the step changed in the worktree

	Count int           // execution count; 0 is none. Noise.
	Took  time.Duration // 0 is not known. Noise.
}

// Tests is what a test runner counted.
type Tests struct {
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped,omitzero"`
	From    string `json:"from,omitzero"` // printed, reported; "" is not said
}

// Names of outputs.
const (
	Stdout  = "stdout"
	Stderr  = "stderr"
	Failure = "error"  // an exception
	Display = "result" // a value or a picture that was shown
)

// Output is one thing that a cell printed or showed, in one or several representations.
type Output struct {
	Name    string
	Data    []Datum // the richest last; at least one
	Options []Field // metadata of the output
}

// Datum is one representation of an output.
type Datum struct {
	MIME   string
	Text   string // of a text
	Bytes  []byte // of anything else, where it is at hand
	File   string // of anything else: where it is kept
	Digest string // "sha256:…" of what is not text
}

// IsText reports whether the datum is compared by its lines.
func (d Datum) IsText() bool { return d.Digest == "" && d.File == "" && d.Bytes == nil }

// Scrap is a value that a step recorded.
type Scrap struct {
	Name   string
	Type   string    // text, json, table, image, file
	Value  codec.Raw // of text, json and table
	File   string    // of image and file
	MIME   string
	Digest string
}

// SetScrap adds a scrap. The last of a name wins.
func SetScrap(list []Scrap, s Scrap) []Scrap {
	for i := range list {
		if list[i].Name == s.Name {
			list[i] = s
			return list
		}
	}
	return append(list, s)
}

// FilePatch is what a step did to one file.
type FilePatch struct {
	Path, From string   // From is where a renamed file was
	Status     string   // added, modified, deleted, renamed, mode
	Lines      []string // of the hunks, each with its mark and without line end; empty of a binary file
	Digest     string   // of the new content, where it is binary
}

func (c *Cell) blank() bool { return strings.Trim(c.Source, " \n\t\r") == "" }
