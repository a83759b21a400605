package review

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
)

// testReads are the files that the test steps of a run read. known is false where that is not known of each of them.
func testReads(m *notebooks.Manifest) (files map[string]bool, known bool) {
	files = map[string]bool{}
	if m == nil || m.Inputs == nil || m.Inputs.Unknown != "" {
		return files, false
	}
	for _, t := range m.Inputs.Tests {
		for folder, names := range t.Files {
			for _, name := range names {
				files[path.Join(folder, name)] = true
			}
		}
	}
	known = true
	for _, s := range m.Steps {
		if slices.Contains(s.Tags, notebooks.TagTest) && s.Status != "skip" {
			known = known && slices.ContainsFunc(m.Inputs.Tests,
				func(t notebooks.TestReads) bool { return t.Step == s.ID && t.Omitted == 0 })
		}
	}
	return files, known
}

// tests reports whether a run has a test step that ran.
func tests(m *notebooks.Manifest) bool {
	return m != nil && slices.ContainsFunc(m.Steps, func(s notebooks.ManifestStep) bool {
		return slices.Contains(s.Tags, notebooks.TagTest) && s.Status != "skip"
	})
}

// unread finds what the tests of a run do not read any more, and those of the output on the old side did: product files
// that the branch changed, and test files. Where reads are not known it finds nothing, and says so.
func (r *reviewer) unread(o *Output, m *notebooks.Manifest) {
	if !tests(m) {
		return
	}
	is, known := testReads(m)
	o.readsUnknown = !known
	o.Idle = m.Inputs.JudgedNothing()
	before := cmp.Or(r.from[o.Path], o.Path)
	if !known || o.Status != "pass" || o.Partial != "" || builds(m.Inputs) ||
		r.base.version(before) == r.head.version(o.Path) { // it need not be read twice
		return
	}
	was := r.base.book(before).look().manifest()
	if was == nil {
		return
	}
	read, _ := testReads(was)
	for name := range read {
		now := r.head.version(name)
		if is[name] || now.blob == "" || !notebooks.IsCode(name) ||
			!notebooks.IsJudgeFile(name) && (r.base.version(name).same(now) || builtEarlier(m, name)) {
			continue
		}
		o.Unread = append(o.Unread, name)
	}
	slices.Sort(o.Unread)
}

// builds reports whether the steps of a run had build folders of the checkout: what tests judge may have been built
// before.
func builds(in *notebooks.Inputs) bool {
	return slices.ContainsFunc(in.Dependencies, func(d notebooks.Dependency) bool {
		return !slices.Contains([]string{"node_modules", ".venv", "venv"}, path.Base(d.Path))
	})
}

// builtEarlier reports whether a file is of a language that is compiled, and a step that is no test read it.
func builtEarlier(m *notebooks.Manifest, name string) bool {
	return strings.Contains(" .c .cc .cpp .h .hpp .rs .java .kt .scala .cs .swift .ts .mts .cts .tsx ",
		" "+path.Ext(name)+" ") && slices.ContainsFunc(m.Inputs.Read, func(in notebooks.Input) bool {
		test := slices.ContainsFunc(m.Inputs.Tests, func(t notebooks.TestReads) bool { return t.Step == in.Step })
		return !test && in.Names == "" && covers(in.Path, name)
	})
}

// UnreadWords say that tests read files no more; "" if there are none.
func (o *Output) UnreadWords() string {
	if len(o.Unread) == 0 {
		return ""
	}
	return fmt.Sprintf("its tests read %s before, and do not now", some(o.Unread))
}

// idleWords say that test steps judged nothing; "" if there are none.
func (o *Output) idleWords() string {
	if len(o.Idle) == 0 {
		return ""
	}
	var steps []string
	for _, id := range o.Idle {
		steps = append(steps, string(id))
	}
	return "judged nothing: no file of the repository was read by " + plain.Some(steps, 5)
}

// untested finds the product files that the branch changed and that no test read, on either side.
func (r *reviewer) untested() []Finding {
	if r.head.Inputs() == nil {
		return nil
	}
	r.head.scan()
	read, any := map[string]bool{}, false
	var earlier []notebooks.Input // of versions that did not list what each test read
	note := func(in *notebooks.Inputs) bool {
		if in == nil || in.Unknown != "" || builds(in) {
			return in == nil
		}
		if in.Tests == nil {
			earlier = append(earlier, in.Read...)
		}
		for _, t := range in.Tests {
			any = true
			for folder, names := range t.Files {
				for _, name := range names {
					read[path.Join(folder, name)] = true
				}
			}
			if t.Omitted > 0 {
				return false
			}
		}
		return true
	}
	for _, in := range r.head.reads {
		if !note(in) {
			return nil
		}
	}
	for _, f := range r.files {
		if m := r.base.book(cmp.Or(f.From, f.Path)).look().manifest(); f.Old && m != nil && !note(m.Inputs) {
			return nil
		}
	}
	var list []string
	for _, name := range r.changed {
		if notebooks.IsCode(name) && !notebooks.IsJudgeFile(name) && !read[name] && !r.head.isNotebook(name) &&
			r.head.version(name).blob != "" && !slices.ContainsFunc(earlier, func(in notebooks.Input) bool {
			return in.Names == "" && covers(in.Path, name)
		}) {
			list = append(list, name)
		}
	}
	if !any || len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	words := "changed, and no test reads it"
	if n := len(list) - 1; n > 0 {
		words = strings.Replace(words, "it", "them", 1) + ", as " + some(list[1:])
	}
	return []Finding{{Condition: OnUntested, Path: list[0], Words: words, Files: list}}
}
