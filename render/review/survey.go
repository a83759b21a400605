package review

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"markmill/notebooks/ipynb"
	"markmill/render/fresh"
)

// Survey lists the outputs of the new side with their states, and the sources that have none, by path of the source.
// The old side may be nil; an output that is there, and not on the new side, is missing. Jupyter notebooks without
// outputs are left out.
func Survey(in Input) ([]Output, error) {
	if in.Base == nil {
		in.Base = nothing{}
	}
	r := newReviewer(in)
	r.alone = true
	names, err := r.head.All(IsNotebookName)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range names {
		files = append(files, File{Path: name, New: true})
	}
	r.settings(files)
	gone, err := r.gone(names)
	if err != nil {
		return nil, err
	}
	var out []Output
	has := map[string]bool{}
	for _, name := range names {
		if r.head.isOutput(name) {
			o := r.output(name)
			if in.Proof == nil {
				o.Proof = nil
			}
			out = append(out, o)
			has[o.Source] = true
		}
	}
	for _, name := range names {
		if has[name] {
			continue
		}
		if r.head.foreign(name) {
			out = append(out, Output{Source: name, States: []State{Unknown},
				Unknown: "its outputs are not of a run of Markmill: what they were made from was not recorded"})
		}
		if !r.head.isSource(name) {
			continue
		}
		o := Output{Path: gone[name], Source: name, States: []State{Missing}, Problems: []string{"no output here"}}
		switch {
		case o.Path != "":
			o.Problems = []string{"it is in " + in.BaseName.Name + ", and not here"}
		default:
			if o.Path = r.configured(name); o.Path != "" {
				o.Problems = []string{"markmill.yaml wants it there"}
			}
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Output) int {
		return strings.Compare(a.Subject()+"\x00"+a.Path, b.Subject()+"\x00"+b.Path)
	})
	return out, r.head.err
}

// foreign reports whether a path is a Jupyter notebook whose outputs another program left.
func (s *side) foreign(name string) bool {
	if !isJupyter(name) {
		return false
	}
	b := s.book(name).look()
	return b.jupyter != nil && b.manifest() == nil &&
		slices.ContainsFunc(b.jupyter.Cells, func(c ipynb.Cell) bool { return len(c.Outputs) > 0 })
}

// gone maps sources to the outputs that they have on the old side alone.
func (r *reviewer) gone(names []string) (map[string]string, error) {
	list, err := r.base.All(IsNotebookName)
	out := map[string]string{}
	for _, name := range list {
		if _, there := slices.BinarySearch(names, name); !there && r.base.isOutput(name) {
			out[r.base.ownerOf(name)] = name
		}
	}
	return out, cmp.Or(err, r.base.err)
}

// RemovedOutputs lists the outputs of the old side that are gone from the new one, and that Survey does not list as
// missing: their notebook is gone, too, or was renamed, or has other outputs. One that was renamed, or that a new
// output of the same notebook stands for, is not removed.
func RemovedOutputs(in Input) ([]Output, error) {
	r := newReviewer(in)
	was, err := r.base.All(IsNotebookName)
	if err != nil {
		return nil, err
	}
	names, err := r.head.All(IsNotebookName)
	if err != nil {
		return nil, err
	}
	isNew := func(name string) bool { _, old := slices.BinarySearch(was, name); return !old }
	var gone []string
	var files []File
	for _, name := range was {
		if _, there := slices.BinarySearch(names, name); !there {
			gone, files = append(gone, name), append(files, File{Path: name, Old: true})
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	outputs := map[string][]string{} // of the new side, by source
	for _, name := range names {
		if isNew(name) {
			files = append(files, File{Path: name, New: true})
		}
		if r.head.isOutput(name) {
			owner := r.head.ownerOf(name)
			outputs[owner] = append(outputs[owner], name)
		}
	}
	for _, f := range r.renames(files) {
		if f.From != "" {
			r.to[f.From] = f.Path
		}
	}
	var out []Output
	for _, name := range gone {
		if r.to[name] != "" || !r.base.isOutput(name) {
			continue
		}
		owner := r.base.ownerOf(name)
		o := Output{Path: name, Source: cmp.Or(r.to[owner], owner), States: []State{Missing}}
		switch {
		case owner == "":
			o.Problems = []string{"it was removed"}
		case !r.head.isSource(o.Source):
			o.Problems, o.gone = []string{"it was removed with its notebook"}, owner
		case slices.ContainsFunc(outputs[o.Source], isNew):
			continue
		case o.Source != owner:
			o.Problems = []string{"it was removed when its notebook was renamed"}
		case len(outputs[owner]) == 0:
			continue // Survey has it
		default:
			o.Problems = []string{"it was removed, and its notebook was not"}
		}
		out = append(out, o)
	}
	return out, cmp.Or(r.base.err, r.head.err)
}

// Subject is the path of the notebook: the source, or an output that is its own.
func (o *Output) Subject() string {
	if o.Source != "" {
		return o.Source
	}
	return o.Path
}

// Target is where a run of the notebook writes its output: where the output is or is expected, else beside the source.
func (o *Output) Target() string {
	if o.Path != "" {
		return o.Path
	}
	return besideOutput(o.Source)
}

// Lost reports whether the source of the output was removed.
func (o *Output) Lost() bool { return o.gone != "" }

// Why says in one line why an output is in its worst state; "" of a current one.
func (o *Output) Why() string {
	switch o.States[0] {
	case Failed, Blocked:
		step, words := o.failure()
		words = strings.TrimPrefix(words, o.runWords()+": ") // the state says that
		if step != "" && !names(words, step) {
			words = step + ": " + words
		}
		return words
	case Partial:
		return o.Partial
	case Outdated:
		return strings.Join(append([]string{o.outdated()}, o.Problems...), "; ")
	case Unknown:
		return o.Unknown
	case Current:
		return o.Pinned
	}
	return strings.Join(o.Problems, "; ")
}

// nothing is a tree without files.
type nothing struct{}

func (nothing) Read(string, int64) ([]byte, error)                   { return nil, fs.ErrNotExist }
func (nothing) In(string) ([]string, error)                          { return nil, nil }
func (nothing) All(func(string) bool) ([]string, error)              { return nil, nil }
func (nothing) Entry(string) (blob, mode string, ok bool, err error) { return "", "", false, nil }
func (nothing) Inputs() fresh.Tree                                   { return nil }
