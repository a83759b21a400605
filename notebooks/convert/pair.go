package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// keySynced is the digest of the inputs that the files of a pair had in common when they were brought together last.
const keySynced = "synced"

// Pair is one of the files of a notebook that Jupytext has paired.
type Pair struct {
	Ext  string // with its point
	Form notebooks.Form
}

// Pairs returns the files that the metadata of the notebook pair (jupytext: formats), and false for a format that is
// not known or in another folder: its text then is bad.
func (d *Document) Pairs() (pairs []Pair, bad string) {
	own := d.Metadata.object(keyJupytext)
	for word := range strings.FieldsFuncSeq(own.text("formats"), func(r rune) bool { return r == ',' }) {
		ext, name, _ := strings.Cut(strings.TrimSpace(word), ":")
		if ext == "auto" {
			ext = notebooks.LanguageNamed(d.Language()).Extensions[0]
		}
		pair := Pair{Ext: "." + strings.TrimPrefix(ext, ".")}
		switch pair.Form = notebooks.FormOfName("x" + pair.Ext); {
		case strings.Contains(word, "/"), pair.Form == "":
			return nil, word
		case pair.Form.Script() && (name == "" || name == "light"):
			pair.Form = notebooks.FormLight
		case pair.Form.Script() && name == "percent", name == "":
		case name == "markdown", name == "myst", name == "rmarkdown", name == "quarto":
		default:
			return nil, word
		}
		if pair.Form == notebooks.FormNative {
			if pair.Form = notebooks.FormJupytext; name == "myst" {
				pair.Form = notebooks.FormMyST
			}
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) == 0 && own.Has("formats") {
		return nil, string(own.Get("formats"))
	}
	return pairs, ""
}

// As returns the document as it is once it stands in a form of text.
func (d *Document) As(form notebooks.Form, name string) (*Document, error) {
	text, _, err := d.To(form, name)
	if err != nil {
		return nil, err
	}
	return Read(form, name, text)
}

// ofSessions is metadata of cells that Jupytext leaves to the Jupyter notebook.
var ofSessions = []string{"execution", "ExecuteTime", "papermill", "autoscroll", "collapsed", "scrolled", "trusted"}

// Inputs returns a digest of the cells without their outputs, and of what no tool keeps for itself.
func (d *Document) Inputs() string {
	sum := sha256.New()
	for i := range d.Cells {
		c := &d.Cells[i]
		fields := d.fields(c).without("lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker", "id").without(
			ofSessions...)
		slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		all, err := codec.Marshal([]any{c.Type, strings.TrimRight(c.Source, "\n"), fields.Raw()})
		if err == nil {
			sum.Write(append(all, '\n'))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Synced returns the digest that SetSynced has noted; "" without one.
func (d *Document) Synced() string { return d.Metadata.own().text(keySynced) }

// SetSynced notes the inputs that the files of a pair have in common.
func (d *Document) SetSynced(inputs string) { d.Metadata.setOwn(keySynced, quoted(inputs)) }

// WithOutputs takes the outputs, and what else a text has no place for, from the Jupyter notebook of a pair: for a cell
// from the one of the same text, or else from the one in its place.
func (d *Document) WithOutputs(book *Document) {
	for i := range book.Metadata {
		f := &book.Metadata[i]
		if f.Name != keyMarkmill && !d.Metadata.Has(f.Name) {
			d.Metadata.Set(f.Name, f.Value)
		}
	}
	for i, j := range matchCells(d.Cells, book.Cells) {
		if j < 0 {
			continue
		}
		c, from := &d.Cells[i], &book.Cells[j]
		c.Outputs, c.Count, c.Attachments = from.Outputs, from.Count, from.Attachments
		if c.ID == "" {
			c.ID = from.ID
		}
		for _, name := range ofSessions {
			if raw := from.Metadata.Get(name); raw != nil && !c.Metadata.Has(name) {
				c.Metadata.Set(name, raw)
			}
		}
	}
}

// matchCells finds for each cell of a text the one of a Jupyter notebook that it was, or -1: of the same text in the
// same order, of the same text anywhere, and then the one in its place among those.
func matchCells(texts, books []Cell) []int {
	same := func(a, b *Cell) bool { return a.Type == b.Type && squeezed(a.Source) == squeezed(b.Source) }
	found, used := make([]int, len(texts)), make([]bool, len(books))
	take := func(i, j int) { found[i], used[j] = j, true }
	first := map[string]int{}
	for i := range texts {
		found[i] = -1
		for j := first[texts[i].Type]; j < len(books); j++ {
			if same(&texts[i], &books[j]) {
				take(i, j)
				first[texts[i].Type] = j + 1
				break
			}
		}
	}
	for i := range texts {
		for j := 0; found[i] < 0 && j < len(books); j++ {
			if !used[j] && same(&texts[i], &books[j]) {
				take(i, j)
			}
		}
	}
	before := -1
	for i := range texts {
		if found[i] >= 0 {
			before = found[i]
		} else if j := before + 1; j < len(books) && !used[j] && texts[i].Type == books[j].Type &&
			strings.TrimSpace(texts[i].Source) != "" {
			take(i, j)
			before = j
		}
	}
	return found
}

// squeezed is a text without what formatters of code change.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n,'\"()\\", r) {
			return -1
		}
		return r
	}, text)
}

// Base returns the path of a notebook without its extension.
func Base(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }
