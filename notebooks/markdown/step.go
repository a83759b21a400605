package markdown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// role is what a fence is to a run.
type role int

const (
	prose role = iota
	step
	parameters // a block of YAML or JSON that declares them
)

// roleOf decides whether a fence runs. Steps are opt-in: a fence that only names a language is an example.
func (r *parser) roleOf(f *blocks.Fence, in *info) role {
	if in.noLang {
		return r.roleWithoutLang(in)
	}
	switch in.lang {
	case "yaml", "yml", "json":
		if in.hasTag(notebooks.TagParameters) {
			return parameters
		}
		if r.almostParameters(in) {
			return prose
		}
	}
	runs := r.jupytextCell // of a bare language
	if in.form != "" {
		form := syntaxOf(in.form)
		runs = func(f *blocks.Fence, in *info) bool { return form.runs(r, f, in) }
	}
	if runs(f, in) || r.header.all && notebooks.IsLanguage(in.lang) && !r.inTextCell(f.Span.Start) {
		return step
	}
	return prose
}

// roleWithoutLang is for {#id .class}: Pandoc's way to write a listing, or a step whose language was forgotten.
func (r *parser) roleWithoutLang(in *info) role {
	for _, t := range in.tags {
		if notebooks.IsLanguage(t.text) || notebooks.IsData(strings.ToLower(t.text)) {
			if in.id.text != "" || r.stepByTag(in) {
				r.warn(t.at, "", NoStep+": its language is not its first word",
					fmt.Sprintf("write ```%s {#id} to run it", t.text))
			}
			return prose
		}
	}
	if in.id.text == "" && !r.stepByTag(in) {
		return prose
	}
	return step
}

// stepByTag reports whether one of the tags makes a step. Classes of typesetters do not, and no class does on a fence
// of data.
func (r *parser) stepByTag(in *info) bool {
	for _, t := range in.tags {
		if presentation(t.text, in.lang) {
			continue
		}
		if !notebooks.IsData(in.lang) || isOwnTag(t.text) {
			return true
		}
	}
	return false
}

func isOwnTag(tag string) bool { return slices.Contains(ownTags, ownTag(tag)) }

// warnOfOptions warns of a fence that has options of a step and is not one.
func (r *parser) warnOfOptions(in *info) {
	for _, a := range in.attrs {
		_, ok := attributes[a.key]
		if (ok || notebooks.NearMiss(a.key, attributeNames) != "") && !notebooks.IsData(in.lang) {
			r.warn(a.at, "", fmt.Sprintf(NoStep+", so %s= has no effect", a.key), "add an id, {#name}, or {.step}")
			return
		}
	}
}

// addStep reads a step.
func (r *parser) addStep(f *blocks.Fence, in *info) {
	nb := r.nb
	line, _ := nb.Position(f.Tick)
	s := &notebooks.Step{Index: len(nb.Steps), Lang: in.lang, Fence: f.Span, Line: line, CodeLine: line + 1,
		Code: f.Code(nb.Source)}
	nb.Steps = append(nb.Steps, s)
	spelled := in.form
	switch {
	case spelled == "" && r.header.jupytext:
		spelled = notebooks.FormJupytext
	case spelled == "":
		spelled = notebooks.FormNative
	}
	if spelled == notebooks.FormNative && in.id.text == "" && usesRunme(in) {
		spelled = notebooks.FormRunme
	}
	if spelled != notebooks.FormNative && r.foreign == "" {
		r.foreign = spelled
	}
	if in.id.text != "" {
		s.ID, s.Explicit = notebooks.StepID(in.id.text), true
		if !notebooks.IsID(in.id.text) {
			r.mistake(notebooks.KindSyntax, in.id.at, "",
				fmt.Sprintf("%s cannot be an id: letters, digits, - _ . only, not first - or .", quote(in.id.text)),
				"write #"+cmp.Or(notebooks.Slug(in.id.text), "name"))
		}
	}
	for _, w := range in.wrong {
		r.mistake(notebooks.KindSyntax, w.at, s.ID, w.msg, w.hint)
	}
	for _, t := range in.tags {
		r.checkTag(s, t, in.lang)
		addTag(s, t.text)
	}
	if spelled == notebooks.FormNative {
		for _, b := range in.bare {
			r.mistake(notebooks.KindOption, b.at, s.ID,
				fmt.Sprintf("%s is neither #id, .tag nor name=value", quote(b.text)),
				"write ."+cmp.Or(notebooks.Slug(b.text), "tag")+" for a tag")
		}
	}
	r.applyAll(s, in.attrs, spelled)
	r.readOptionLines(s, f, spelled)
	if language := syntaxOf(spelled).language; language != nil {
		language(r, s, f)
	} else {
		s.Lang = notebooks.KernelLanguage(s.Lang)
	}
	if main := cmp.Or(r.header.lang, "python"); r.header.jupytext && spelled == notebooks.FormJupytext &&
		s.Lang != main && !notebooks.IsLanguage(s.Lang) {
		s.Lang, s.Code, s.CodeLine = main, []byte(notebooks.CellMagic(in.word, "", string(s.Code))), s.CodeLine-1
	}
	if r.header.magics {
		s.Code = []byte(UncommentMagics(string(s.Code), s.Lang, r.header.which))
	}
	if s.Has(notebooks.TagParameters) {
		r.declare(s, "")
	}
}

// usesRunme reports whether a fence in braces has a name=, as only Runme's have, or another attribute of Runme's.
func usesRunme(in *info) bool {
	return slices.ContainsFunc(in.attrs, func(a attr) bool {
		_, runme := runmeKeys[a.key]
		return runme || a.key == "name"
	})
}

// checkTag tells of a tag that is a slip of one with a meaning: it would be kept and have no effect.
func (r *parser) checkTag(s *notebooks.Step, t mark, lang string) {
	if isOwnTag(t.text) || presentation(t.text, lang) && t.text != "tests" || len(TagsOf(t.text)) > 1 {
		return
	}
	if near := nearTag(t.text); near != "" {
		r.almost(t.at, s.ID, fmt.Sprintf("the tag .%s has no meaning", t.text), fmt.Sprintf("did you mean .%s?", near))
	}
}

// applyAll applies attributes, each at most once; the name first, for the messages about the others.
func (r *parser) applyAll(s *notebooks.Step, attrs []attr, spelled notebooks.Form) {
	rank := func(a attr) int {
		if a.key == "name" || a.key == "label" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(attrs, func(a, b attr) int { return rank(a) - rank(b) })
	seen := map[string]bool{}
	for _, a := range attrs {
		if seen[a.key] {
			r.mistake(notebooks.KindOption, a.at, s.ID, fmt.Sprintf("%s is given twice", a.key), "keep one")
			continue
		}
		seen[a.key] = true
		r.apply(s, a, spelled)
	}
}

func (r *parser) apply(s *notebooks.Step, a attr, spelled notebooks.Form) {
	own := syntaxOf(spelled)
	switch {
	case own.labels && (a.key == "label" || a.key == "id"):
		a.key = "name"
	case own.apply != nil && own.apply(r, s, a):
		return
	}
	set, ok := attributes[a.key]
	// another tool's
	if _, err := outputWord(a.val); a.key == "output" && spelled != notebooks.FormNative && err != nil {
		ok = false
	}
	if name, isEnv := strings.CutPrefix(a.key, "env."); isEnv {
		set, ok = func(s *notebooks.Step, a attr) error { return setVariable(s, name, a.val) }, true
	}
	if !ok {
		r.unknownAttribute(s, a, spelled)
		return
	}
	r.optionAt[option{s, a.key}] = a.at
	switch a.key {
	case "tags":
		for _, tag := range a.words() {
			r.checkTag(s, mark{tag, a.at}, s.Lang)
		}
	case "attempts":
		for _, other := range r.nb.Steps {
			if other != s && other.Attempts > 0 {
				r.mistake(notebooks.KindOption, a.at, s.ID, fmt.Sprintf("attempts: the step in line %d has attempts, "+
					"too, and an attempt is a run of the whole notebook", other.Line), "leave it out at one of them")
				break
			}
		}
	}
	if err := set(s, a); err != nil {
		r.mistake(notebooks.KindOption, a.at, s.ID, fmt.Sprintf("%s: %v", a.key, err), "")
	}
}

// unknownAttribute returns an error in Markmill's own form. In other forms it may be another tool's: it gets a warning,
// and in Jupytext's form only if it looks like a typo, because any tool's keys may be there.
func (r *parser) unknownAttribute(s *notebooks.Step, a attr, spelled notebooks.Form) {
	hint := notebooks.DidYouMean(a.key, attributeNames)
	switch {
	case spelled == notebooks.FormNative:
		switch a.key {
		case "id":
			hint = "write #" + cmp.Or(notebooks.Slug(a.val), "name")
		case "class":
			hint = "write ." + cmp.Or(notebooks.Slug(a.val), "tag")
		}
		hint = cmp.Or(hint, "known are "+strings.Join(attributeNames, ", "))
		r.mistake(notebooks.KindOption, a.at, s.ID, "unknown attribute "+quote(a.key), hint)
	case spelled != notebooks.FormJupytext || hint != "":
		r.warn(a.at, s.ID, fmt.Sprintf("%s has no effect", quote(a.key)), hint)
	}
}
