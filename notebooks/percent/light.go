package percent

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/magics"
)

// Jupytext's light scripts part cells by empty lines. A paragraph of comments is Markdown, and "# +" begins a cell that
// holds empty lines, up to "# -" or the next "# +".

var lightHeader = lazyregexp.New(`(?m)^\S+ +format_name: light *(?:\S\S)?$`)

// saysLight reports whether the header of a script says that it is a light one.
func saysLight(src []byte) bool { return lightHeader.Match(src[:min(len(src), 8<<10)]) }

// lightStart returns what follows the mark that begins a cell of a light script.
func (l Language) lightStart(text string) (options string, ok bool) {
	rest, ok := strings.CutPrefix(text, l.Comment)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), "+")
	return l.withoutSuffix(rest), ok
}

// lightByHand reports whether a script without a header of Jupytext's has the marks of a light one: "# +" alone, or
// with options, and not a sentence.
func (r *parser) lightByHand() bool {
	q := r.Language.Strings()
	for _, l := range r.lines {
		options, ok := r.Language.lightStart(l.Text)
		if ok && !q.Inside() {
			var c Cell
			if c.options(options, 0) && c.Title == "" {
				return true
			}
		}
		q.Read(l.Text)
	}
	return false
}

// lightCell is cell for a light script.
func (r *parser) lightCell(first int) (next int) {
	c := Cell{Kind: Code, At: notebooks.Span{Start: r.lines[first].At}, Line: first + 1, Lang: r.Lang}
	body := first
	options, marked := r.Language.lightStart(r.lines[first].Text)
	if c.Marked = marked; marked {
		body++
	}
	inactive := r.begin(&c, first, options)
	end, next, closed := r.lightEnd(&c, first)
	next = min(next, len(r.lines))
	blank := func(i int) bool { return i >= first && i < len(r.lines) && isBlank(r.lines[i].Text) }
	last := len(r.lines) - 1
	switch {
	case next < last && blank(next) && !blank(next+1):
		next++
	case closed && next+1 < last && blank(next) && blank(next+1) && !blank(next+2):
		next += 2
	}
	if r.Language.Name == "python" && closed && end-body > 2 && blank(end-1) && blank(end-2) && !blank(end-3) {
		end -= 2
	}
	c.At.End = len(r.Source)
	if next < len(r.lines) {
		c.At.End = r.lines[next].At
	}
	var content []string
	for i := body; i < end; i++ {
		content = append(content, r.lines[i].Text)
	}
	if !c.Marked && isBlank(strings.Join(content, "")) && !r.Header.Jupytext { // there it is an empty cell
		return next
	}
	c.CodeLine = body + 1
	which := r.which
	if !c.Marked {
		r.which = lightCommands(which)
	}
	if c.Kind != Code && r.which != magics.Plain && !r.plain { // Jupytext comments out commands in prose, too
		magics.Uncomment(content, r.Lang, r.Language.sign(r.Lang), magics.Quotes{}, magics.Unmarked)
	}
	c.Source = strings.Join(r.uncomment(&c, content, inactive), "\n")
	r.which = which
	c.Metadata = slices.DeleteFunc(c.Metadata, func(o notebooks.Option) bool {
		return c.Kind == Raw && o.Name == "active" && string(o.Value) == `""`
	})
	r.Cells = append(r.Cells, c)
	return next
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// lightEnd finds the line after a cell's content, and the one after the cell; closed says that a mark ends it.
func (r *parser) lightEnd(c *Cell, first int) (end, next int, closed bool) {
	n := len(r.lines)
	if !c.Marked && r.commented(first) {
		c.Kind = Markdown
		for i := first; i < n; i++ {
			if isBlank(r.lines[i].Text) {
				return i, i + 1, false
			}
		}
		return n, n, false
	}
	stop := r.Language.Comment + " " + cmp.Or(text(c.Field("endofcell")), "-")
	q := r.Language.Strings()
	body := first
	if c.Marked {
		body++
	}
	for i := body; i < n; i++ {
		line := r.lines[i].Text
		inside := q.Inside()
		q.Read(line)
		if inside {
			continue
		}
		if _, starts := r.Language.lightStart(line); starts {
			end = i
			for range 2 { // the empty lines that part the two
				if end > first && isBlank(r.lines[end-1].Text) {
					end--
				}
			}
			return end, i, false
		}
		switch {
		case c.Marked && strings.TrimRight(r.Language.withoutSuffix(line), " \t") == stop:
			return i, i + 1, true
		case c.Marked || !isBlank(line) || r.indentedAfter(i):
		case i > first:
			return i, i + 1, false
		case i+1 < n && !isBlank(r.lines[i+1].Text):
			return i + 1, i + 1, false
		default:
			return i + 1, i + 2, false
		}
	}
	return n, n, false
}

// commented reports whether the paragraph that begins at a line is one of comments, and none of them is a command.
func (r *parser) commented(first int) bool {
	sign := r.Language.Comment
	for i := first; i < len(r.lines); i++ {
		line := r.lines[i].Text
		rest, comment := strings.CutPrefix(line, sign)
		switch {
		case !comment:
			return i > first && isBlank(line)
		case strings.HasPrefix(strings.TrimLeft(rest, " \t"), sign):
		case !r.plain && magics.IsCommand(line, r.Lang, sign, lightCommands(r.which)):
			return false
		}
	}
	return true
}

// indentedAfter reports whether the next line that is not empty goes on with an indented block.
func (r *parser) indentedAfter(i int) bool {
	for ; i < len(r.lines); i++ {
		if !isBlank(r.lines[i].Text) {
			return strings.ContainsAny(r.lines[i].Text[:1], " \t")
		}
	}
	return false
}

// Unmarked reports whether a text is read as one cell of a light script of this kind and source, without a mark.
func (l Language) Unmarked(written string, kind Kind, source string) bool {
	s := &Script{Source: []byte(written), Language: l, Lang: l.Name, lines: blocks.Lines(written)}
	r := parser{Script: s, never: map[byte]int{}, which: magics.Escaped, plain: l.suffix() != ""}
	if len(s.lines) == 0 || r.lightCell(0) < len(s.lines) || len(s.Cells) != 1 {
		return false
	}
	c := &s.Cells[0]
	return !c.Marked && c.Kind == kind && c.Source == source && !bytes.HasSuffix(s.Source, []byte("\n\n"))
}

// lightCommands are the commands among comments that are read before the kind of their cell is known.
func lightCommands(which magics.Which) magics.Which {
	if which == magics.Escaped {
		return magics.Unmarked
	}
	return which
}
