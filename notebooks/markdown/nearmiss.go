package markdown

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/expr"
	"markmill/notebooks/lazyregexp"
)

// Text that is almost a step, a tag or a front matter would be ignored silently. The checks here warn of it.

// How messages begin of fences that are almost steps, of those that almost declare parameters, and of fences that are
// steps elsewhere.
const (
	NoStep   = "the fence is not a step"
	noParams = "the fence declares no parameters"
	Inside   = "a step stands inside"
)

// IsAlmost reports whether a warning is of a fence that is almost a step, or almost declares parameters.
func IsAlmost(w *notebooks.Error) bool {
	return strings.HasPrefix(w.Msg, NoStep) || strings.HasPrefix(w.Msg, noParams)
}

// almost tells of a word that is a slip of a known one: a warning, which refuse makes a mistake.
func (r *parser) almost(at int, id notebooks.StepID, msg, hint string) {
	r.warn(at, id, msg, hint)
	w := r.nb.Warnings[len(r.nb.Warnings)-1]
	r.near = append(r.near, w)
	if strings.Contains(hint, "."+notebooks.TagParameters) {
		r.nb.AlmostParams = cmp.Or(r.nb.AlmostParams, w)
	}
}

// refuse makes the near misses in a notebook of Markmill's own form mistakes with which no run begins. The words in
// files of other forms belong to other tools, and those of a file without a step to whatever shows it.
func (r *parser) refuse() {
	nb := r.nb
	if nb.Form == notebooks.FormNative && (len(nb.Steps) > 0 || len(nb.Params) > 0) {
		nb.Refused, nb.AlmostParams = append(nb.Refused, r.near...), nil
		nb.Warnings = slices.DeleteFunc(nb.Warnings,
			func(w *notebooks.Error) bool { return slices.Contains(r.near, w) })
	}
}

// nearTag returns the tag that a word is or must be a slip of; "" if it is none.
func nearTag(word string) string {
	switch tag := ownTag(word); {
	case isOwnTag(word):
		return tag
	case word == "params" || word == "param": // as in the front matter
		return notebooks.TagParameters
	}
	return notebooks.NearMiss(word, ownTags)
}

// almostParameters tells of a fence of YAML or JSON that almost declares parameters.
func (r *parser) almostParameters(in *info) bool {
	words := slices.Concat(in.tags, in.bare, []mark{in.id})
	if a, ok := in.attr("tags"); ok {
		for _, w := range a.words() {
			words = append(words, mark{w, a.at})
		}
	}
	for _, w := range words {
		if nearTag(w.text) == notebooks.TagParameters && (in.form == notebooks.FormNative || len(words) == 2) {
			r.almost(w.at, "", noParams+": "+quote(w.text)+" is not its tag", "write ```"+in.word+" {.parameters}")
			return true
		}
	}
	return false
}

// checkAlmostStep tells of a fence that does not run, and is close to one that does.
func (r *parser) checkAlmostStep(in *info) {
	const not = NoStep + ": "
	if notebooks.IsData(in.lang) {
		return
	}
	native := in.form == notebooks.FormNative
	if a, ok := in.attr("id"); ok && native {
		r.almost(a.at, "", not+"id= gives no id", "write {#"+cmp.Or(notebooks.Slug(a.val), "name")+"}")
		return
	}
	if !notebooks.IsLanguage(in.lang) {
		return
	}
	for _, b := range in.bare {
		name := strings.Trim(b.text, "#.{},")
		tag, alone := nearTag(name), len(in.bare) == 1 && len(in.attrs) == 0
		switch {
		case !notebooks.IsID(name) || name[0] >= '0' && name[0] <= '9' || presentation(name, in.lang):
		case native && tag != "":
			r.almost(b.at, "", not+quote(b.text)+" is no tag", "write {."+tag+"}")
			return
		case native && alone:
			r.warn(b.at, "", not+quote(b.text)+" is neither an id nor a tag", "write {#"+name+"} to run it")
			return
		case b.text == "#"+name:
			r.warn(b.at, "", not+"its id stands outside of braces", "write {#"+name+"}")
			return
		case alone && tag != "" && len(in.tags) == 0:
			r.almost(b.at, "", not+quote(b.text)+" stands outside of braces", "write {."+tag+"}")
			return
		}
	}
	for _, t := range in.tags {
		tag := nearTag(t.text)
		switch {
		case tag == "":
		case native && t.text == "tests": // the class of a block in an output notebook
			r.almost(t.at, "", not+quote("."+t.text)+" is no tag", "write {."+tag+"}")
			return
		case in.form == notebooks.FormJupytext:
			r.almost(t.at, "", not+"its tag stands outside of braces", "write {."+tag+"}")
			return
		}
	}
}

// checkConditions looks for names in if= that nothing has. A scrap counts if the code of a step before has its name.
func (r *parser) checkConditions() {
	var params, ids []string
	for _, p := range r.nb.Params {
		params = append(params, p.Name)
	}
	for _, s := range r.nb.Steps {
		ids = append(ids, string(s.ID))
	}
	unread := slices.ContainsFunc(r.nb.Steps, func(s *notebooks.Step) bool { return s.Parameters })
	for i, s := range r.nb.Steps {
		e, err := expr.Parse(s.If)
		if err != nil {
			continue
		}
		before := func(name string) bool {
			return slices.ContainsFunc(r.nb.Steps[:i],
				func(s *notebooks.Step) bool { return bytes.Contains(s.Code, []byte(name)) })
		}
		at := r.optionAt[option{s, "if"}]
		for _, n := range e.Names() {
			what, known := "parameter ", params
			switch {
			case n.Root == expr.Steps:
				what, known = "step ", ids
			case n.Parts:
				known = slices.Concat(params, expr.Roots)
			}
			near := notebooks.DidYouMean(n.Name, known)
			switch certain := n.Root == expr.Params || n.Root == expr.Steps; {
			case n.Defined, n.Root != expr.Scraps && slices.Contains(known, n.Name), n.Root == expr.Params && unread,
				!certain && before(n.Name):
			case certain:
				r.almost(at, s.ID, "if: there is no "+what+quote(n.Name),
					cmp.Or(near, "declare it, or ask with "+n.Ask()))
			case n.Root == "" && notebooks.NearMiss(n.Name, known) != "":
				r.almost(at, s.ID, "if: nothing is called "+quote(n.Name), near)
			default:
				r.warn(at, s.ID, "if: no step before this one names a scrap "+quote(n.Name),
					"record it first, or ask with "+n.Ask())
			}
		}
	}
}

// checkAlmostLanguage warns of {pyhton}, which is read as a typesetter's directive.
func (r *parser) checkAlmostLanguage(f *blocks.Fence) {
	text := string(r.nb.Source[f.Info.Start:f.Info.End])
	word, ok := strings.CutPrefix(text, "{")
	if !ok {
		return
	}
	word, _, _ = strings.Cut(word, "}")
	word, _, _ = strings.Cut(strings.TrimSpace(word), " ")
	const short = 5 // {note} is no slip of node
	if len(word) < short || notebooks.IsLanguage(word) || !isVariable(word) {
		return
	}
	if near := notebooks.NearMiss(word, notebooks.Languages()); len(near) >= short {
		r.warn(f.Info.Start, "", NoStep+": the language "+quote(word)+" is not known", "did you mean {"+near+"}?")
	}
}

// conflictIn finds a conflict of a merge in the code of a step. certain is false where the lines may be a text that the
// code holds: of a here-document, or of a string of several lines.
func conflictIn(code []byte) (line int, certain, ok bool) {
	open, parted := -1, false
	for at, n := 0, 0; at < len(code); at, n = blocks.LineEnd(code, at), n+1 {
		l := code[at:blocks.LineEnd(code, at)]
		switch {
		case blocks.IsConflictOpen(l):
			open, parted = n, false
			certain = !hereDocument.Match(code[:at])
			for _, quote := range []string{`"""`, `'''`, "`"} {
				certain = certain && bytes.Count(code[:at], []byte(quote))%2 == 0
			}
		case open >= 0 && blocks.IsConflictPart(l):
			parted = true
		case open >= 0 && parted && blocks.IsConflictEnd(l):
			return open, certain, true
		}
	}
	return 0, false, false
}

var hereDocument = lazyregexp.New(`(?:^|[^<])<<[-~]?[ \t]*["'\\]?[A-Za-z_]`)

// checkStepConflicts refuses steps with a merge conflict: the steps before would run, and then both of its sides.
func (r *parser) checkStepConflicts() {
	if !bytes.Contains(r.nb.Source, []byte(">>>>>>> ")) {
		return
	}
	for _, s := range r.nb.Steps {
		line, certain, ok := conflictIn(s.Code)
		if !ok {
			continue
		}
		e := &notebooks.Error{Kind: notebooks.KindSyntax, File: r.nb.Name, Line: s.CodeLine + line, Col: 1, Step: s.ID,
			Msg: "a conflict of a merge begins here", Hint: "keep what is right, and delete Git's lines"}
		if certain {
			r.errs = append(r.errs, e)
		} else {
			e.Msg = "these look like the lines of a conflict of a merge"
			r.nb.Warnings = append(r.nb.Warnings, e)
		}
	}
}

// lostMatter is a front matter that is not read because of how it is spelled.
type lostMatter struct {
	line      int // from 0
	msg, hint string
}

var matterKey = lazyregexp.New(`^([\pL_][\pL\pN_.-]*)[ \t]*:(?:[ \t]|$)`)

// findLostMatter looks for a front matter at the head of a text that no reader accepts: not closed, closed by another
// line than ---, or not in the first line. A Markdown text may begin with a rule, so the lines below it must be YAML up
// to the first empty one, and one of their keys must be a known key, or close to one.
func findLostMatter(text string) (lostMatter, bool) {
	const many = 1000 // lines of a front matter
	lines := strings.SplitN(text, "\n", many)
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	first := 0
	for first < len(lines) && lines[first] == "" {
		first++
	}
	if first == len(lines) || !isDashes(strings.TrimLeft(lines[first], " ")) {
		return lostMatter{}, false
	}
	mark, known := lines[first], false
	end := first + 1
	for ; end < len(lines); end++ {
		l := lines[end]
		if m := matterKey.FindStringSubmatch(l); m != nil {
			known = known || isFrontKey(m[1])
			continue
		}
		if l == "" || !strings.ContainsAny(l[:1], " \t#]}") && !strings.HasPrefix(l, "- ") {
			break
		}
	}
	const not = "the front matter is not read: "
	closed := end < len(lines) && lines[end] == "---"
	switch {
	case !known:
		return lostMatter{}, false
	case mark != "---":
		return lostMatter{first, not + "it begins with " + quote(mark), "begin and end it with a line of ---"}, true
	case !closed && end < len(lines) && isDashes(strings.TrimLeft(lines[end], " ")):
		return lostMatter{end, not + quote(lines[end]) + " does not end it", "end it with a line of ---"}, true
	case !closed:
		return lostMatter{first, not + "it is never closed", "end it with a line of ---"}, true
	case first > 0:
		return lostMatter{first, not + "it does not begin in the first line", "take out what stands before it"}, true
	}
	return lostMatter{first, not + "it does not stand where it is looked for",
		"put it into a raw cell, the first of the notebook"}, true
}

// isDashes reports whether a line is what may stand for --- by a slip.
func isDashes(line string) bool {
	return len(line) > 1 && strings.Trim(line, "-") == "" ||
		strings.Trim(line, "—–-") == "" && line != "" && line != "-"
}

func isFrontKey(key string) bool {
	_, own := frontKeys[key]
	return own || key == "params" || ForeignKey(key) || len(key) > 4 && notebooks.NearMiss(key, frontNames) != ""
}

// checkLostMatter refuses a file whose front matter is not read: a run without its allow: and require: would pass.
func (r *parser) checkLostMatter(m blocks.FrontMatter) {
	if m.Mark != "" {
		return
	}
	src := r.nb.Source
	base := 0
	if bytes.HasPrefix(src, []byte(notebooks.BOM)) {
		base = len(notebooks.BOM)
	}
	lost, ok := findLostMatter(string(src[base:min(len(src), base+64<<10)]))
	if !ok {
		return
	}
	r.mistake(notebooks.KindSyntax, r.offset(base, lost.line+1, 1), "", lost.msg, lost.hint)
}

// checkHead does the same for the text at the head of a file that another package has read.
func (r *parser) checkHead(m notebooks.FrontMatter) {
	if lost, ok := findLostMatter(string(m.Text)); ok {
		line, col := m.Place(lost.line+1, 1)
		r.mistake(notebooks.KindSyntax, r.offset(0, line, col), "", lost.msg, lost.hint)
	}
}
