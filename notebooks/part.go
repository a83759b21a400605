package notebooks

import "slices"

// Part is a part of a source: the front matter, a fence, or the text between two of them.
type Part struct {
	Kind PartKind
	Span Span // from the head of its first line, its last newline included

	// Of a fence:
	Info string
	Form Form   // how the info string is spelled; "" for a bare language
	Lang string // as typed, in lower case
	Code []byte // without the indentation of the fence, option lines included; lines end with \n
	Step *Step  // of PartStep
}

// PartKind is what a part is to a run.
type PartKind int

const (
	PartText        PartKind = iota // prose, and fences that do not run
	PartFrontMatter                 //
	PartParameters                  // a fence of YAML or JSON that declares parameters
	PartStep
)

// Parts returns the parts of a Markdown notebook, in order: together they are all bytes of the source. Fences that do
// not run belong to the text around them.
func (nb *Notebook) Parts() []Part {
	var parts []Part
	at := 0
	until := func(end int) {
		if at < end {
			parts = append(parts, Part{Span: Span{at, end}})
		}
	}
	add := func(p Part) {
		until(p.Span.Start)
		parts = append(parts, p)
		at = p.Span.End
	}
	if front := nb.Front.Span; front.End > front.Start {
		add(Part{Kind: PartFrontMatter, Span: front})
	}
	for _, f := range nb.Fences {
		if f.Kind != PartText {
			add(f)
		}
	}
	until(len(nb.Source))
	return parts
}

// Text returns the bytes of a part.
func (nb *Notebook) Text(p Part) string { return string(nb.Source[p.Span.Start:p.Span.End]) }

// Declares reports whether a fence of YAML or JSON declares parameters.
func (nb *Notebook) Declares() bool {
	return slices.ContainsFunc(nb.Fences, func(p Part) bool { return p.Kind == PartParameters })
}
