package markdown

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/magics"

	"go.yaml.in/yaml/v4"
)

var foreignLine = lazyregexp.New(`(?m)^(?:jupyter|jupytext|kernelspec):`)

// header is what the keys of other tools say about the file.
type header struct {
	form     notebooks.Form
	jupytext bool   // every fence of a language is a cell
	all      bool   // so it is: the author says so
	lang     string // of the kernel
	node     *yaml.Node
	magics   bool // comments are commands that only IPython reads
	which    magics.Which
	invalid  *slip // the YAML cannot be read
}

// readHeader reads the front matter as YAML, and from it which tool's file this is.
func (r *parser) readHeader(m blocks.FrontMatter) {
	switch m.Mark {
	case "+++":
		r.warn(m.Span.Start, "", "TOML front matter is left alone: nothing in it has an effect",
			"write YAML between lines of ---")
		return
	case "":
		return
	}
	r.nb.Front.Span = m.Span
	src := r.nb.Source
	text := src[m.Text.Start:m.Text.End]
	node, line, col, msg := YAMLMapping(text)
	if msg != "" {
		at := r.offset(m.Text.Start, line, col)
		r.header.invalid = &slip{at, "the front matter cannot be read: " + msg, "write it as YAML, key: value"}
		// Jupytext puts a raw cell, whatever is in it, before its own keys.
		own := foreignLine.FindIndex(text)
		if own == nil {
			return
		}
		if node, _, _, msg = YAMLMapping(text[own[0]:]); msg != "" {
			r.header.form = notebooks.FormJupytext
			return
		}
		r.header.read(node)
		return
	}
	r.header.node = node
	r.header.read(node)
}

// NamesKey reports whether a line of a text begins as a key of Markmill's does that changes what a run does.
func NamesKey(text string) bool {
	for line := range strings.Lines(text) {
		key, _, ok := strings.Cut(line, ":")
		if _, known := frontKeys[key]; ok && (known || key == "params") && key != "title" && key != "description" {
			return true
		}
	}
	return false
}

// offset returns the place of a line and column (from 1) of a text that begins at base, which is the head of a line.
func (r *parser) offset(base, line, col int) int {
	src := r.nb.Source
	at := r.nb.LineStart(r.nb.Line(base) + line - 1)
	for ; col > 1 && at < len(src) && src[at] != '\n'; col-- {
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	return at
}

// read finds the form and the kernel's language.
func (h *header) read(node *yaml.Node) {
	jupyter, jupytext := lookup(node, "jupyter"), lookup(node, "jupytext")
	spec := lookup(node, "kernelspec")
	formatOf := func(jupytext *yaml.Node) string {
		return scalar(lookup(lookup(jupytext, "text_representation"), "format_name"))
	}
	format := cmp.Or(formatOf(jupytext), formatOf(lookup(jupyter, "jupytext")))
	if format == "rmarkdown" {
		h.magics, h.which = true, magics.Escaped
	}
	switch {
	case format == "myst" || format == "" && jupyter == nil && spec != nil:
		h.form = notebooks.FormMyST
	case format == "rmarkdown" || format == "quarto":
		h.form = notebooks.FormQuarto
	case jupyter != nil && jupyter.Kind == yaml.ScalarNode: // jupyter: python3 is Quarto's
		h.form = notebooks.FormQuarto
	case jupyter != nil || jupytext != nil:
		h.form, h.jupytext = notebooks.FormJupytext, true
	case lookup(node, "marimo-version") != nil:
		h.form = notebooks.FormMarimo
	case lookup(node, "runme") != nil:
		h.form = notebooks.FormRunme
	case lookup(node, "execute") != nil || lookup(node, "format") != nil ||
		lookup(node, "output") != nil && !ownOutput(lookup(node, "output")) || lookup(node, "engine") != nil:
		h.form = notebooks.FormQuarto
	}
	if spec == nil {
		spec = lookup(jupyter, "kernelspec")
	}
	h.all = scalar(lookup(node, "steps")) == allSteps
	h.lang = notebooks.KernelLanguage(strings.TrimSpace(scalar(lookup(spec, "language"))))
	if h.lang == "" && spec != nil {
		if name := scalar(lookup(spec, "name")); strings.HasPrefix(name, "python") {
			h.lang = "python"
		}
	}
}

// lookup finds the value of a key; nil without one, or without a mapping.
func lookup(node *yaml.Node, key string) *yaml.Node {
	node = resolve(node)
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return resolve(node.Content[i+1])
		}
	}
	return nil
}

func resolve(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func scalar(node *yaml.Node) string {
	if node == nil || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}
