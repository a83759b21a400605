package convert

import (
	"cmp"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/magics"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
)

// Jupytext Markdown and R Markdown: a fence of a language is a cell of code, comments of HTML mark other cells where
// they must be marked, and two empty lines separate the other cells of Markdown.

var (
	regionStart = lazyregexp.New(`^<!--\s*#(region|markdown|md|raw)(.*)-->\s*$`)
	chunkInfo   = lazyregexp.New(`^{(.*)}\s*$`)
	blankLine   = lazyregexp.New(`^\s*$`)
	ruleLine    = lazyregexp.New(`^---\s*$`)
	jupyterLine = lazyregexp.New(`^jupyter\s*:\s*$`)
)

// jupytext reads cells of one of the two forms.
type jupytext struct {
	rmd       bool
	main      string // the language of the notebook, "" where the header does not say it
	atHeading bool   // a heading begins a cell
}

func readJupytext(d *Document, t *text, nb *notebooks.Notebook) error {
	first, err := d.readHeader(t, jupyterLine)
	if err != nil {
		return err
	}
	m := d.jupytext()
	for i := first; i < len(t.lines); {
		c, next := m.cell(t, i)
		c.at = t.lines[i].At
		d.Cells = append(d.Cells, c)
		i = next
	}
	d.takeLanguages()
	// IPython's commands are commented out in every R Markdown file that Jupytext wrote.
	written := d.Metadata.object(keyJupytext).object("text_representation").text("format_name")
	which := magics.Plain
	if written == "rmarkdown" {
		which = magics.Escaped
	}
	if written == "rmarkdown" || written == "" && d.Form == notebooks.FormRMarkdown {
		for i := range d.Cells {
			if c := &d.Cells[i]; c.Type == "code" && percent.Active(c.Metadata.Get, "Rmd") {
				c.Source = markdown.UncommentMagics(c.Source, d.Language(), which)
			}
		}
	}
	d.takeSteps(nb)
	return nil
}

// jupytext returns the reader that the header asks for.
func (d *Document) jupytext() *jupytext {
	own := d.Metadata.object(keyJupytext)
	return &jupytext{rmd: cmp.Or(d.to, d.Form) == notebooks.FormRMarkdown,
		main:      cmp.Or(own.text("main_language"), d.Metadata.object(keyKernelspec).text("language")),
		atHeading: string(own.Get("split_at_heading")) == "true"}
}

// readHeader reads the front matter: the value of the key is the notebook's metadata, the rest becomes a raw cell. It
// returns the index of the line after it.
func (d *Document) readHeader(t *text, key *lazyregexp.Regexp) (next int, err error) {
	if len(t.lines) == 0 || !ruleLine.MatchString(t.lines[0].Text) {
		return 0, nil
	}
	end := 1
	for end < len(t.lines) && !ruleLine.MatchString(t.lines[end].Text) {
		end++
	}
	if end == len(t.lines) {
		return 0, nil
	}
	var jupyter, rest []blocks.Line
	in, first := false, 0
	for i, l := range t.lines[1:end] {
		switch {
		case key.MatchString(l.Text):
			in, first = true, i+2
		case l.Text != "" && !strings.HasPrefix(l.Text, " ") && !strings.HasPrefix(l.Text, "\t"):
			in = false
		}
		if in {
			jupyter = append(jupyter, l)
		} else {
			rest = append(rest, l)
		}
	}
	if len(jupyter) > 0 {
		all, bad := yamlObject(join(jupyter) + "\n")
		if bad != nil {
			return 0, d.problem(first+bad.line-1, bad.col, "the header cannot be read: "+bad.msg,
				"write it as YAML, key: value")
		}
		if len(all) > 0 {
			d.Metadata = objectOf(all[0].Value)
		}
	}
	next = end + 1
	if next < len(t.lines) && blankLine.MatchString(t.lines[next].Text) {
		next++
	}
	if len(rest) > 0 {
		d.Cells = append(d.Cells, Cell{Type: "raw", Source: "---\n" + join(rest) + "\n---", at: t.at(next)})
	}
	return next, nil
}

// cell reads the cell that begins at a line, and returns the line after it and the empty lines behind it.
func (m *jupytext) cell(t *text, first int) (c Cell, next int) {
	start, end, explicit := first, 0, true
	lang, fields, code := m.opening(t, first)
	switch region := regionStart.FindStringSubmatch(t.lines[first].Text); {
	case region != nil:
		c = regionCell(region)
		start = first + 1
		end, next = len(t.lines), len(t.lines)
		if i := regionEnd(t.lines, region[1], start); i >= 0 {
			end, next = i, i+1
		}
	case !code:
		c.Type = "markdown"
		end, next, explicit = m.prose(t, first)
	case fields.Has(".noeval"): // an example, in a cell of its own
		c.Type = "markdown"
		end, next, explicit = t.fences[first], t.fences[first], false
	default:
		start, next = first+1, t.fences[first]
		end = max(start, next-1) // the fence of a cell's text may never be closed
		c.Type, c.Metadata = "code", fields
		c.Metadata.Set("language", quoted(cmp.Or(fields.text("language"), lang)))
		if m.rmd && c.Metadata.Has("eval") && !percent.Active(c.Metadata.Get, "Rmd") {
			c.Metadata = c.Metadata.without("eval")
		}
		if !percent.Active(c.Metadata.Get, "ipynb") {
			c.Type = "raw"
			if c.Metadata.text("active") == "" {
				c.Metadata = c.Metadata.without("active")
			}
		}
	}
	c.Source = join(t.lines[start:end])
	blank := func(i int) bool { return blankLine.MatchString(t.lines[i].Text) }
	switch {
	case next+1 < len(t.lines) && blank(next) && !blank(next+1):
		next++
	case explicit && next+2 < len(t.lines) && blank(next) && blank(next+1) && !blank(next+2):
		next += 2
	}
	return c, next
}

// opening reads the info string of a fence that is a cell of code; false if a line begins none.
func (m *jupytext) opening(t *text, line int) (lang string, fields Object, ok bool) {
	if t.fences[line] == 0 || t.lines[line].Text[0] != '`' {
		return "", nil, false
	}
	info := strings.TrimLeft(strings.TrimLeft(t.lines[line].Text, "`"), " \t")
	if m.rmd {
		found := chunkInfo.FindStringSubmatch(info)
		if found == nil {
			return "", nil, false
		}
		lang, fields = chunkOptions(found[1])
		return lang, fields, notebooks.IsCellLanguage(lang) || sameLanguage(lang, m.main)
	}
	lang, rest, _ := strings.Cut(strings.ReplaceAll(info, "\t", " "), " ")
	if long, ok := strings.CutPrefix(info, "wolfram language"); ok && (long == "" || long[0] == ' ') {
		lang, rest = "wolfram language", long
	}
	if !notebooks.IsCellLanguage(lang) && (m.main == "" || lang == "" || !sameLanguage(lang, m.main) ||
		notebooks.IsCellLanguage(m.main)) {
		return "", nil, false
	}
	return lang, fenceOptions(rest), true
}

// prose finds the end of a cell of Markdown that nothing marks.
func (m *jupytext) prose(t *text, first int) (end, next int, explicit bool) {
	blanks := 0
	indented := false
	for i := first; i < len(t.lines); i++ {
		l := t.lines[i].Text
		blank := blankLine.MatchString(l)
		if !blank && strings.HasPrefix(l, "    ") {
			indented = indented || blanks > 0
			if indented {
				blanks = 0
				continue
			}
		} else if !blank {
			indented = false
		}
		if indented {
			continue
		}
		_, fields, code := m.opening(t, i)
		example := code && fields.Has(".noeval")
		switch {
		case code && !example || regionStart.MatchString(l):
			if i > first+1 && blanks > 0 {
				return i - 1, i, false
			}
			return i, i, false
		case m.atHeading && strings.HasPrefix(l, "#") && blanks >= 1:
			return i - 1, i, false
		case blanks >= 2 && !blank && !example:
			return i - 2, i, true
		case t.fences[i] > 0:
			i, blanks = t.fences[i]-1, 0
		case blank:
			blanks++
		default:
			blanks = 0
		}
	}
	return len(t.lines), len(t.lines), false
}

// fenceFor returns a fence that a text cannot close.
func fenceFor(source string) string {
	length := 3
	for _, l := range strings.Split(source, "\n") {
		bare := strings.TrimLeft(l, " ")
		if n := len(bare) - len(strings.TrimLeft(bare, "`")); n >= length && len(l)-len(bare) <= 3 {
			length = n + 1
		}
	}
	return strings.Repeat("`", length)
}
