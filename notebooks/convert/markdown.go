package convert

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/percent"
)

// Jupytext Markdown and R Markdown: a fence of a language is a cell of code, comments of HTML mark other cells where
// they must be marked, and two empty lines separate the other cells of Markdown.

var (
	regionStart = lazyregexp.New(`^<!--\s*#(region|markdown|md|raw)(.*)-->\s*$`)
	chunkStart  = lazyregexp.New("^(```+){(.*)}\\s*$")
	blankLine   = lazyregexp.New(`^\s*$`)
	ruleLine    = lazyregexp.New(`^---\s*$`)
	jupyterLine = lazyregexp.New(`^jupyter\s*:\s*$`)
)

// markdown reads cells of one of the two forms.
type markdown struct {
	rmd       bool
	main      string // the language of the notebook, "" where the header does not say it
	atHeading bool   // a heading begins a cell
}

func readJupytext(d *Document, t *text, nb *notebooks.Notebook) error {
	first, err := d.readHeader(t, jupyterLine)
	if err != nil {
		return err
	}
	m := d.markdown()
	for i := first; i < len(t.lines); {
		c, next := m.cell(t.lines[i:])
		c.at = t.lines[i].At
		d.Cells = append(d.Cells, c)
		i += next
	}
	d.takeLanguages()
	if d.commented() {
		for i := range d.Cells {
			if c := &d.Cells[i]; c.Type == "code" && percent.Active(c.Metadata.Get, "Rmd") {
				c.Source = notebooks.UncommentMagics(c.Source, d.Language())
			}
		}
	}
	d.takeSteps(nb)
	return nil
}

// commented reports whether IPython's commands are commented out, as in every R Markdown file that Jupytext wrote.
func (d *Document) commented() bool {
	return d.Metadata.object(keyJupytext).object("text_representation").text("format_name") == "rmarkdown"
}

// markdown is the reader that the header asks for.
func (d *Document) markdown() *markdown {
	form := d.to
	if form == "" {
		form = d.Form
	}
	m := &markdown{rmd: form == notebooks.FormRMarkdown, main: d.Metadata.object(keyKernelspec).text("language")}
	if lang := d.Metadata.object(keyJupytext).text("main_language"); lang != "" {
		m.main = lang
	}
	m.atHeading = string(d.Metadata.object(keyJupytext).Get("split_at_heading")) == "true"
	return m
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
	var jupyter, rest []notebooks.Line
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
		all, err := yamlObject(join(jupyter) + "\n")
		if err != nil {
			line, col, msg := yamlProblem(err)
			return 0, d.problem(first+line-1, col, "the header cannot be read: "+msg, "write it as YAML, key: value")
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

// cell reads the cell that some lines begin with, and says how many lines it takes with the empty ones after it.
func (m *markdown) cell(lines []notebooks.Line) (Cell, int) {
	var c Cell
	start, end, next, explicit := 0, 0, 0, false
	switch region := regionStart.FindStringSubmatch(lines[0].Text); {
	case region != nil:
		start = 1
		title, fields := titledOptions(region[2])
		c.Metadata = fields
		if title != "" {
			c.Metadata.Set("title", quoted(title))
		}
		c.Type = "markdown"
		if region[1] == "raw" {
			c.Type = "raw"
		} else if region[1] != "region" {
			c.Metadata.Set("region_name", quoted(region[1]))
		}
		end, next = len(lines), len(lines)
		if i := regionEnd(lines, region[1], 1); i >= 0 {
			end, next, explicit = i, i+1, true
		}
	default:
		lang, fields, ticks, ok := m.opening(lines[0].Text)
		if !ok {
			c.Type = "markdown"
			end, next, explicit = m.prose(lines)
			break
		}
		end, next = len(lines), len(lines)
		for i, l := range lines[1:] {
			if notebooks.ClosesFence(l.Text, '`', ticks) {
				end, next, explicit = i+1, i+2, true
				break
			}
		}
		if fields.Has(".noeval") { // an example, in a cell of its own
			c.Type = "markdown"
			end = min(end+1, len(lines))
			explicit = false
			break
		}
		start, c.Type, c.Metadata = 1, "code", fields
		c.Metadata.Set("language", quoted(lang))
		if l := fields.text("language"); l != "" {
			c.Metadata.Set("language", quoted(l))
		}
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
	end = max(end, start)
	c.Source = join(lines[start:end])
	blank := func(i int) bool { return blankLine.MatchString(lines[i].Text) }
	switch {
	case next+1 < len(lines) && blank(next) && !blank(next+1):
		next++
	case explicit && next+2 < len(lines) && blank(next) && blank(next+1) && !blank(next+2):
		next += 2
	}
	return c, next
}

// opening reads the line that begins a cell of code. It refuses lines that are too long; Parse reports those.
func (m *markdown) opening(text string) (lang string, fields Object, ticks int, ok bool) {
	if len(text) > percent.MaxOptions {
		return "", nil, 0, false
	}
	if m.rmd {
		found := chunkStart.FindStringSubmatch(text)
		if found == nil {
			return "", nil, 0, false
		}
		lang, fields = chunkOptions(found[2])
		if !cellLanguages[lang] && !sameLanguage(lang, m.main) {
			return "", nil, 0, false
		}
		return lang, fields, len(found[1]), true
	}
	ticks = len(text) - len(strings.TrimLeft(text, "`"))
	if ticks < 3 {
		return "", nil, 0, false
	}
	info := strings.TrimLeft(text[ticks:], " \t")
	lang, rest, _ := strings.Cut(strings.ReplaceAll(info, "\t", " "), " ")
	if long, ok := strings.CutPrefix(info, "wolfram language"); ok && (long == "" || long[0] == ' ') {
		lang, rest = "wolfram language", long
	}
	if !cellLanguages[lang] && (m.main == "" || lang == "" || !sameLanguage(lang, m.main)) || strings.Contains(rest, "`") {
		return "", nil, 0, false
	}
	return lang, fenceOptions(rest), ticks, true
}

// prose finds the end of a cell of Markdown that nothing marks.
func (m *markdown) prose(lines []notebooks.Line) (end, next int, explicit bool) {
	blanks := 0
	indented := false
	mark, length := byte(0), 0 // of the fence that is open
	for i, l := range lines {
		blank := blankLine.MatchString(l.Text)
		if length > 0 {
			if notebooks.ClosesFence(l.Text, mark, length) {
				length = 0
			}
			continue
		}
		if blanks > 0 && strings.HasPrefix(l.Text, "    ") && !blank {
			indented, blanks = true, 0
			continue
		}
		if indented && !blank && !strings.HasPrefix(l.Text, "    ") {
			indented = false
		}
		if indented {
			continue
		}
		_, fields, ticks, code := m.opening(l.Text)
		switch {
		case code && fields.Has(".noeval"):
			mark, length, blanks = '`', ticks, 0
			continue
		case code || regionStart.MatchString(l.Text):
			if i > 1 && blanks > 0 {
				return i - 1, i, false
			}
			return i, i, false
		}
		if sign, n := notebooks.OpensFence(l.Text); n > 0 {
			if blanks >= 2 {
				return i - 2, i, true
			}
			mark, length, blanks = sign, n, 0
			continue
		}
		switch {
		case m.atHeading && strings.HasPrefix(l.Text, "#") && blanks >= 1:
			return i - 1, i, false
		case blank:
			blanks++
		case blanks >= 2:
			return i - 2, i, true
		default:
			blanks = 0
		}
	}
	return len(lines), len(lines), false
}

// fenceFor is a fence that a text cannot close.
func fenceFor(source string) string {
	length := 3
	for _, l := range sourceLines(source) {
		bare := strings.TrimLeft(l, " ")
		if n := len(bare) - len(strings.TrimLeft(bare, "`")); n >= length && len(l)-len(bare) <= 3 {
			length = n + 1
		}
	}
	return strings.Repeat("`", length)
}
