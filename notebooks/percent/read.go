package percent

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/magics"
)

// Marked reports whether a text has a line that begins a cell, which makes it a notebook and not only a script.
func Marked(lang Language, src []byte) bool {
	if saysLight(src) || isMarimo(lang, src) {
		return true
	}
	if !bytes.Contains(src, []byte("%%")) && !bytes.Contains(src, []byte("<codecell>")) &&
		!bytes.Contains(src, []byte("In[")) {
		return false
	}
	q := lang.Strings()
	for _, l := range blocks.Lines(string(src)) {
		if _, ok := lang.marker(l.Text); ok && !q.Inside() {
			return true
		}
		q.Read(l.Text)
	}
	return false
}

// Parse reads a script. A file with another name is read as Python. The error is a *notebooks.Error: the file is no
// text, or Jupytext wrote it in another form of script.
func Parse(name string, src []byte) (*Script, error) {
	lang, ok := LanguageOf(name)
	if !ok {
		lang = python()
	}
	s := &Script{Name: name, Source: src, Language: lang, Lang: lang.Name}
	if err := notebooks.CheckText(name, src); err != nil {
		return s, err
	}
	if w := notebooks.WarnOfReturns(name, src); w != nil {
		s.Warnings = append(s.Warnings, w)
	}
	s.lines = blocks.Lines(string(src))
	r := parser{Script: s, never: map[byte]int{}}
	next := r.header()
	if err := r.kernel(); err != nil {
		return s, err
	}
	if s.Marimo = isMarimo(lang, src); s.Marimo {
		r.marimo()
		return s, nil
	}
	r.plain = r.plain || lang.suffix() != ""
	cell := r.cell
	if r.Light = r.Light || !s.Header.Jupytext && !Marked(lang, src) && r.lightByHand(); r.Light {
		cell = r.lightCell
	}
	for next < len(s.lines) {
		next = cell(next)
	}
	return s, nil
}

// parser is the state of Parse.
type parser struct {
	*Script
	which magics.Which // comments are commands
	// the length of the fences of a sign that nothing ends any more: the rest is not looked through for each
	never map[byte]int
	plain bool // no comments are commands: the script has them uncommented
}

// warn adds a warning at an offset of the line with an index.
func (r *parser) warn(i, at int, msg, hint string) {
	col := 1 + utf8.RuneCountInString(r.lines[i].Text[:at-r.lines[i].At])
	r.Warnings = append(r.Warnings, &notebooks.Error{Kind: notebooks.KindOption, File: r.Name, Line: i + 1, Col: col,
		Msg: msg, Hint: hint})
}

// cell reads the cell that begins at a line, and gives the index of the line after it.
func (r *parser) cell(first int) (next int) {
	c := Cell{Kind: Code, At: notebooks.Span{Start: r.lines[first].At}, Line: first + 1, Lang: r.Lang}
	body := first
	var options string
	if options, c.Marked = r.Language.marker(r.lines[first].Text); c.Marked {
		body++
	}
	inactive := r.begin(&c, first, options)
	next = r.cellEnd(&c, first)
	c.At.End = len(r.Source)
	if next < len(r.lines) {
		c.At.End = r.lines[next].At
	}
	content := r.content(first, next, body)
	c.CodeLine = body + 1
	if !c.Marked && len(strings.TrimSpace(strings.Join(content, ""))) == 0 {
		return next // nothing is before the first marker
	}
	c.Source = strings.Join(r.uncomment(&c, content, inactive), "\n")
	r.Cells = append(r.Cells, c)
	return next
}

// begin reads the options of a cell that begins at a line. inactive says that the cell is no code in the script.
func (r *parser) begin(c *Cell, first int, options string) (inactive bool) {
	if c.Marked {
		l := r.lines[first]
		at := l.At + strings.LastIndex(l.Text, options)
		if !c.options(options, at) {
			r.warn(first, at, "what follows the title of the cell cannot be read as options, so it is part of the "+
				"title",
				`write name=value with values of JSON, as tags=["a"]`)
		}
	}
	inactive = !Active(c.Field, r.Language.ext)
	if c.Kind == Code && !Active(c.Field, "ipynb") {
		c.Kind = Raw
	}
	if lang := text(c.Field("language")); lang != "" && c.Kind == Code {
		c.Lang = strings.ToLower(lang)
	}
	return inactive
}

// cellEnd finds the line that begins the next cell. Within a text of the language, and in a fence of Markdown that is
// closed, no line does.
func (r *parser) cellEnd(c *Cell, first int) int {
	q := r.Language.Strings()
	if c.Lang != r.Lang { // its lines are comments, whatever they hold
		q = magics.Quotes{}
	}
	fenceEnd := -1
	for i := first; i < len(r.lines); i++ {
		text := r.lines[i].Text
		if q.Inside() {
			q.Read(text)
			continue
		}
		q.Read(text)
		if i <= fenceEnd {
			continue
		}
		if c.Kind != Code && i > first {
			if fenceEnd = r.fenceEnd(i); fenceEnd > i {
				continue
			}
		}
		if _, ok := r.Language.marker(text); ok && i > first {
			return i
		}
	}
	return len(r.lines)
}

// fenceEnd returns the line that closes the fence which a line of a comment opens; -1 when it opens none, or none that
// is closed.
func (r *parser) fenceEnd(i int) int {
	open, length := blocks.OpensFence(r.Language.Bare(r.lines[i].Text))
	if length == 0 || r.never[open] > 0 && length >= r.never[open] {
		return -1
	}
	for j := i + 1; j < len(r.lines); j++ {
		if blocks.ClosesFence(r.Language.Bare(r.lines[j].Text), open, length) {
			return j
		}
	}
	r.never[open] = length
	return -1
}

// content returns the lines of a cell without its marker, and without the one or two empty lines before the next cell.
func (r *parser) content(first, next, body int) []string {
	end := next
	blank := func(i int) bool { return i >= first && strings.TrimSpace(r.lines[i].Text) == "" }
	switch {
	case end-first >= 3 && blank(end-1) && r.lines[end-2].Text == "" && !blank(end-3):
		end -= 2
	case end > first && r.lines[end-1].Text == "":
		end--
	}
	var content []string
	for i := body; i < end; i++ {
		content = append(content, r.lines[i].Text)
	}
	return content
}

// uncomment takes off the comment signs that are not the author's.
func (r *parser) uncomment(c *Cell, content []string, inactive bool) []string {
	if c.Lang == "go" && c.Lang == r.Lang {
		magics.UncommentCells(content)
	}
	switch {
	case c.Kind != Code && c.Field("active") == nil && r.Language.Name == "python":
		if inner, skip, ok := quotedText(content); ok {
			c.CodeLine += skip
			return inner
		}
		fallthrough
	case c.Kind != Code && !c.runsInScript(r), inactive, c.Lang != r.Lang && c.Field("active") == nil:
		if c.Kind != Code && c.Marked {
			r.codeInProse(c, content)
		}
		for i := range content {
			content[i] = r.Language.Bare(content[i])
		}
		return content
	case c.Kind != Code: // code that only the script runs
		return content
	}
	if !r.plain {
		magics.Uncomment(content, r.Lang, r.Language.sign(r.Lang), r.Language.Strings(), r.which)
	}
	return content
}

// codeInProse notes where lines of a cell of text have no comment sign: the script runs them, and Jupytext takes them
// for text.
func (r *parser) codeInProse(c *Cell, content []string) {
	var bare []string
	line := 0
	for i, l := range content {
		if strings.TrimSpace(l) != "" && r.Language.Bare(l) == l {
			bare = append(bare, l)
			line = cmp.Or(line, c.CodeLine+i)
		}
	}
	if _, _, quoted := quotedText(bare); len(bare) > 0 && !(quoted && r.Language.Name == "python") {
		r.mistakes = append(r.mistakes, &notebooks.Error{Kind: notebooks.KindInput, File: r.Name, Line: line, Col: 1,
			Msg: fmt.Sprintf("this line is no comment and stands in a cell of text, that of line %d: the script would "+
				"run it, and Jupytext reads it as text", c.Line),
			Hint: fmt.Sprintf("write %s before it, or begin a cell of code above it with %s %%%%", r.Language.Comment,
				r.Language.Comment)})
	}
}

// runsInScript reports whether a cell that is raw in a notebook is code in the script.
func (c *Cell) runsInScript(r *parser) bool {
	return c.Field("active") != nil && Active(c.Field, r.Language.ext)
}

// quotedText returns the lines inside a triple-quoted string that is all of a cell; skip counts the lines before the
// first.
func quotedText(content []string) (inner []string, skip int, ok bool) {
	all := strings.Join(content, "\n")
	whole := strings.TrimSpace(all)
	skip = strings.Count(all[:strings.Index(all, whole)], "\n")
	for _, quote := range []string{`"""`, `'''`} {
		bare := whole
		if !strings.HasPrefix(bare, quote) && bare != "" && (bare[0] == 'r' || bare[0] == 'R') {
			bare = bare[1:]
		}
		if len(bare) < 2*len(quote) || !strings.HasPrefix(bare, quote) || !strings.HasSuffix(bare, quote) {
			continue
		}
		bare = bare[len(quote) : len(bare)-len(quote)]
		if strings.HasPrefix(bare, "\n") {
			bare = bare[1:]
			skip++
		}
		bare = strings.TrimSuffix(bare, "\n")
		if bare == "" {
			return nil, skip, true
		}
		return strings.Split(bare, "\n"), skip, true
	}
	return nil, 0, false
}

// formError refuses a script that Jupytext wrote in another form.
func (r *parser) formError(form string) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: r.Name, Line: 1, Col: 1,
		Msg:  fmt.Sprintf("the script is in Jupytext's form %q, and only light and percent scripts are read", form),
		Hint: "jupytext --to py:percent"}
}
