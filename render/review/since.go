package review

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/render/documents"
	"markmill/render/fresh"
	"markmill/render/plain"
)

// judge compares what the run of an output read with the new side.
func (r *reviewer) judge(o *Output, m *notebooks.Manifest) {
	if m.Inputs != nil {
		for _, in := range m.Inputs.Data {
			o.Read = append(o.Read, in.Path)
		}
	}
	for _, f := range m.Data {
		o.Wrote = append(o.Wrote, f.Path)
	}
	got := compareInputs(m, r.head)
	o.Unknown, o.Pinned = got.Unknown, got.Pinned
	if len(got.Reasons) > 0 {
		o.States = append(o.States, Outdated)
		o.Reasons = append(o.Reasons, got.Reasons...)
	}
	o.Tree = treeWords(m)
	if r.brought[o.Path] && m.Inputs != nil {
		r.start(o, m, got)
		o.Judges = r.changedJudges(m)
	}
}

// treeWords say how the tree that a run tested was another than its base with what the base locks.
func treeWords(m *notebooks.Manifest) (words []string) {
	if m.Unchecked {
		words = append(words, "unchecked: no sandbox kept its steps from the code of the checkout, beside its worktree")
	}
	if m.Inputs == nil {
		return words
	}
	for _, d := range m.Inputs.Dependencies {
		if d.Differs != "" {
			words = append(words, fmt.Sprintf("it ran with %s of a checkout whose %s was not that of its base", d.Path,
				d.Differs))
		}
	}
	return words
}

// compareInputs compares the inputs of a run with a side. A manifest that cannot be compared is one of which nothing is
// known.
func compareInputs(m *notebooks.Manifest, s *side) *fresh.Result {
	tree := s.Inputs()
	if tree == nil {
		return &fresh.Result{Unknown: "there is nothing to compare its inputs with"}
	}
	got, err := fresh.Judge(m, tree)
	if err != nil {
		return &fresh.Result{Unknown: "its inputs cannot be compared: " + err.Error()}
	}
	return got
}

// start finds the files that a run began with, and that neither side of the review has: it ran on another base. now is
// how its inputs compare with the new side.
func (r *reviewer) start(o *Output, m *notebooks.Manifest, now *fresh.Result) {
	for i, p := range m.Inputs.Programs {
		if p.Inside {
			o.inside = append(o.inside, p.Name)
		}
		if slices.ContainsFunc(m.Inputs.Programs[:i], func(q notebooks.Program) bool {
			return q.Kernel == p.Kernel && q.Name == p.Name && q.Digest != p.Digest
		}) {
			o.replaced = append(o.replaced, p.Name)
		}
	}
	var was *fresh.Result
	isFile := func(name string) bool {
		return slices.ContainsFunc(m.Inputs.Read, func(in notebooks.Input) bool {
			return in.Path == name && in.Blob != "" && !in.Ignored
		})
	}
	for _, reason := range now.Reasons {
		if !isFile(reason.Path) {
			continue
		}
		if was == nil {
			was = compareInputs(m, r.base)
		}
		if slices.ContainsFunc(was.Reasons, func(w fresh.Reason) bool { return w.Path == reason.Path }) {
			o.elsewhere = append(o.elsewhere, reason.Path)
		}
	}
	r.learn()
	for _, c := range m.Changes {
		name := cmp.Or(c.OldPath, c.Path)
		began, base := version{c.OldBlob, c.OldMode}, r.base.version(name)
		if !r.reaches(name, base, began) && !r.head.version(name).same(began) && !r.merged(o.Path, name, began) {
			o.elsewhere = append(o.elsewhere, name)
		}
	}
	slices.Sort(o.elsewhere)
	o.elsewhere = slices.Compact(o.elsewhere)
}

// merged reports whether an output's change of a file is in the base already, by the output that the base has at its
// path, and began there with the same content: a run that takes the change back begins with the base before it.
func (r *reviewer) merged(output, name string, began version) bool {
	m := r.base.book(cmp.Or(r.from[output], output)).look().manifest()
	return m != nil && slices.ContainsFunc(m.Changes, func(c notebooks.ManifestChange) bool {
		return cmp.Or(c.OldPath, c.Path) == name && began.same(version{c.OldBlob, c.OldMode}) &&
			r.base.version(c.Path).same(version{c.NewBlob, c.NewMode})
	})
}

// changedJudges lists the files that the branch changed, the run did not, and steps up to the last test read.
func (r *reviewer) changedJudges(m *notebooks.Manifest) []string {
	last, place := -1, map[notebooks.StepID]int{}
	for i, s := range m.Steps {
		place[s.ID] = i
		if notebooks.Judge(s.Tags) {
			last = i
		}
	}
	var scripts, others []string
	for _, name := range r.changed {
		in := slices.IndexFunc(m.Inputs.Read, func(in notebooks.Input) bool {
			return in.Names == "" && covers(in.Path, name) && place[in.Step] <= last
		})
		if in < 0 || slices.ContainsFunc(m.Changes, func(c notebooks.ManifestChange) bool {
			return c.Path == name || c.OldPath == name
		}) {
			continue
		}
		if isProgram(name, m.Inputs.Read[in].Mode) {
			scripts = append(scripts, name)
		} else {
			others = append(others, name)
		}
	}
	slices.Sort(scripts)
	slices.Sort(others)
	return append(scripts, others...)
}

// isProgram reports whether a file is one that a step may start, by its mode or name.
func isProgram(name, mode string) bool {
	return mode == "100755" || slices.Contains([]string{".sh", ".bash", ".mk"}, path.Ext(name)) ||
		path.Base(name) == "Makefile"
}

// covers reports whether a path is a file, or a folder that it is in.
func covers(at, name string) bool { return at == name || at == "." || strings.HasPrefix(name, at+"/") }

// affected adds the notebooks that did not change, and whose outputs are outdated by what the branch changed. A source
// and its outputs are one.
func (r *reviewer) affected() {
	if len(r.changed) == 0 || r.head.Inputs() == nil {
		return
	}
	r.head.scan()
	names := slices.Sorted(maps.Keys(r.head.reads))
	if r.in.Current {
		var err error
		names, err = r.head.All(func(name string) bool { return isMarkdown(name) || isJupyter(name) })
		r.head.failed(err)
	}
	of := map[string]*Notebook{}
	for _, name := range names {
		if _, known := r.judged[name]; known || r.told[name] != nil || !r.in.Current && !r.mayTouch(name) ||
			!r.head.isOutput(name) {
			continue
		}
		o := r.output(name)
		made := slices.ContainsFunc(o.Reasons, func(reason fresh.Reason) bool { return r.touches(reason.Path) })
		if r.in.Current && o.Has(Current) || !r.in.Current && (!made || o.Has(Failed) || o.Has(Blocked)) {
			continue
		}
		at := cmp.Or(o.Source, name)
		if of[at] == nil {
			of[at] = &Notebook{Path: at, Change: Untouched, Kind: r.head.book(at).look().kind}
			r.notebooks = append(r.notebooks, of[at])
		}
		of[at].Outputs = append(of[at].Outputs, o)
	}
}

// mayTouch reports whether the run of an output may depend on something that the branch changed, by its manifest alone.
func (r *reviewer) mayTouch(name string) bool {
	return r.touches(fresh.SettingsFile) || slices.ContainsFunc(r.head.reads[name].Read, func(in notebooks.Input) bool {
		return r.touches(in.Path)
	})
}

// touches reports whether the branch changed a file, something in a folder, or attributes that may be theirs.
func (r *reviewer) touches(name string) bool {
	if r.touched == nil {
		r.touched = map[string]bool{}
		for _, changed := range r.changed {
			for ; !r.touched[changed]; changed = path.Dir(changed) {
				r.touched[changed] = true
			}
		}
	}
	for up := name; up != "." && up != "/" && !r.touched[name]; { // a manifest may name anything
		if up = path.Dir(up); r.touched[path.Join(up, ".gitattributes")] {
			return true
		}
	}
	return r.touched[name]
}

// changedSource says what changed in a source since the run that left an output.
func (r *reviewer) changedSource(output *book, source string) string {
	was, err := output.text()
	if err != nil {
		return "changed"
	}
	is, err := r.head.book(source).look().text()
	if err != nil {
		return "changed"
	}
	d := diff.Compare(was, is, diff.Options{})
	var parts []string
	add := func(noun string, names []string) {
		if len(names) == 1 {
			parts = append(parts, noun+" "+names[0])
		} else if len(names) > 1 {
			parts = append(parts, noun+"s "+plain.Some(names, 5))
		}
	}
	var steps, params []string
	for i := range d.Cells {
		ch := &d.Cells[i]
		if ch.Kind != diff.Code || !ch.Changed() {
			continue
		}
		switch ch.What {
		case diff.Added, diff.Removed:
			steps = append(steps, ch.Label()+" ("+string(ch.What)+")")
		case diff.Same:
			steps = append(steps, ch.Label()+" (moved)")
		default:
			steps = append(steps, ch.Label())
		}
	}
	add("step", steps)
	if output.jupyter != nil == isJupyter(source) && !isScript(source) { // else they are written in another way
		for _, p := range d.Params {
			params = append(params, p.Name)
		}
		add("parameter", params)
		if len(d.Options) > 0 {
			parts = append(parts, "front matter")
		}
	}
	if len(parts) == 0 {
		return "changed: the text between the steps"
	}
	return "changed: " + strings.Join(parts, ", ")
}

// text is a notebook without the outputs that it holds, as it is compared.
func (b *book) text() (*diff.Document, error) {
	switch {
	case b.err != nil:
		return nil, b.err
	case b.jupyter != nil:
		source, err := ipynb.Parse(b.path, ipynb.Source(b.jupyter, true)) // without the values that a run was given
		if err != nil {
			return nil, err
		}
		return documents.Jupyter(source), nil
	case isScript(b.path):
		return documents.Script(b.path, b.raw)
	}
	return documents.Markdown(b.path, b.stripped.Source, nil)
}
