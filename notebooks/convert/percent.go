package convert

import (
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/percent"
)

func readPercent(d *Document, t *text, _ *notebooks.Notebook) error {
	s, err := percent.Parse(d.Name, []byte(t.src))
	if err != nil {
		return err
	}
	if _, err := s.Runnable(); err != nil {
		return err
	}
	if d.Form = notebooks.FormPercent; s.Light {
		d.Form = notebooks.FormLight
	}
	first := 0
	if s.Header.Given {
		inner := &Document{Name: d.Name}
		if _, err := inner.readHeader(textOfSource([]byte("---\n"+s.Header.Text+"---\n")), jupyterLine); err != nil {
			return err
		}
		d.Metadata, d.Cells = inner.Metadata, inner.Cells
	}
	if len(s.Cells) > 0 {
		first = s.Cells[0].At.Start
	}
	for i := range d.Cells {
		d.Cells[i].at = first
	}
	apart := map[int]bool{} // cells that a run gives to a kernel of their own
	for i := range s.Cells {
		c := &s.Cells[i]
		apart[c.At.Start] = c.Lang != s.Lang
		cell := Cell{Type: string(c.Kind), Source: c.Source, at: c.At.Start}
		for _, f := range c.Metadata {
			cell.Metadata.Set(f.Name, f.Value)
		}
		if c.Title != "" {
			cell.Metadata.Set("title", quoted(c.Title))
		}
		if c.Depth > 0 {
			cell.Metadata.Set("cell_depth", codec.Raw(strconv.Itoa(c.Depth)))
		}
		if c.Short {
			cell.Metadata.Set("region_name", quoted("md"))
		}
		d.Cells = append(d.Cells, cell)
	}
	if len(d.Metadata.object(keyKernelspec)) == 0 && d.Metadata.object(keyJupytext).text("main_language") == "" {
		o := d.Metadata.object(keyJupytext)
		o.Set("main_language", quoted(s.Lang))
		d.Metadata.setObject(keyJupytext, o)
	}
	d.takeLanguages()
	d.nest()
	for i := range d.Cells {
		c := &d.Cells[i]
		if lang, _, _, ok := magic(c.Source, d.Language()); ok && c.Type == "code" && apart[c.at] {
			c.Metadata.setOwn(keyLanguage, quoted(usualLanguage(lang)))
		}
	}
	return nil
}

func writePercent(d *Document) (*page, error) {
	return d.script("percent", "1.3", (*Document).percentCell), nil
}

func writeLight(d *Document) (*page, error) {
	return d.script("light", "1.5", (*Document).lightCell), nil
}

// script writes the cells as those of a form of scripts that Jupytext has under a name.
func (d *Document) script(form, version string,
	write func(*Document, *Cell, percent.Language, string) string) *page {
	lang, ok := percent.LanguageOf(d.out)
	if !ok {
		lang, _ = percent.LanguageOf(".py")
	}
	own := d.textMetadata()
	own.setObject(keyJupytext, d.representation(lang.Extension(), form, version))
	header, fromCell := d.jupytextHeader(own)
	p := &page{cells: make([]string, len(d.Cells))}
	lines := strings.Split(strings.TrimSuffix(header, "\n"), "\n")
	p.header = strings.Join(lang.Commented(lines), "\n") + "\n"
	main := d.Language()
	for i := range d.Cells {
		if i > 0 || !fromCell {
			p.cells[i] = write(d, &d.Cells[i], lang, main)
		}
	}
	p.space()
	return p
}

func (d *Document) percentCell(c *Cell, lang percent.Language, main string) string {
	options, lines, active := d.scriptCell(c, lang, main)
	marker := "%%"
	if options != "" && !strings.HasPrefix(options, "%") {
		marker += " "
	}
	marker = lang.Commented([]string{marker + options})[0] + "\n"
	if c.Type == "code" && active && c.Source == "" {
		return marker
	}
	text := strings.Join(lines, "\n") + "\n"
	if tail := len(c.Source) - len(strings.TrimRight(c.Source, "\n")); tail > 1 && c.Type == "code" && active {
		text += "\n"
	}
	return marker + text
}

// lightCell writes a cell without marks where it is read so, and else between "# +" and "# -".
func (d *Document) lightCell(c *Cell, lang percent.Language, main string) string {
	options, lines, active := d.scriptCell(c, lang, main)
	text := strings.Join(lines, "\n") + "\n"
	// there Jupytext's mark of an end opens a comment, so each cell has one that begins it
	whole := lang.CommentEnd() != ""
	if !whole && (options == "" && active || options == "[markdown]") &&
		lang.Unmarked(text, percent.Kind(c.Type), c.Source) {
		return text
	}
	end := "-"
	for slices.Contains(lines, lang.Commented([]string{end})[0]) {
		end += "-"
	}
	if end != "-" {
		options = strings.TrimSpace(options + ` endofcell="` + end + `"`)
	}
	if c.Type == "code" && c.Source == "" {
		text = ""
	}
	text = lang.Commented([]string{strings.TrimSpace("+ " + options)})[0] + "\n" + text
	if whole {
		return text
	}
	return text + lang.Commented([]string{end})[0] + "\n"
}

// scriptCell returns the options of a cell, and its lines as they stand in a script: those of prose as comments. active
// says that it is code there.
func (d *Document) scriptCell(c *Cell, lang percent.Language, main string) (options string, lines []string,
	active bool) {
	fields := d.fields(c).without("endofcell")
	source := c.Source
	ext := strings.TrimPrefix(lang.Extension(), ".")
	active = c.Type == "code" && percent.Active(fields.Get, ext)
	if c.Type == "code" {
		if l, args, rest, ok := magic(c.Source, main); ok {
			source, active = rest, false
			if args != "" {
				fields.Set("magic_args", quoted(args))
			}
			fields.Set("language", quoted(l))
		} else if l := fields.text("language"); l != "" && !sameLanguage(l, main) {
			active = false
		}
	}
	var head []string
	title, fields := fields.readableTitle()
	if depth := string(fields.Get("cell_depth")); depth != "" && len(depth) == 1 && depth > "0" {
		head = append(head, strings.Repeat("%", int(depth[0]-'0')))
		fields = fields.without("cell_depth")
	}
	if title != "" {
		head = append(head, title)
	}
	if c.Type != "code" {
		kind := c.Type
		if fields.text("region_name") == "md" {
			kind, fields = "md", fields.without("region_name")
		}
		head = append(head, "["+kind+"]")
	}
	options = optionText(strings.Join(head, " "), fields)
	lines = strings.Split(source, "\n")
	switch {
	case c.Type == "code" && active:
		lang.CommentMagics(lines, main)
	case c.Type != "code" && percent.Active(fields.Get, ext) && fields.Has("active"):
	case c.Type == "markdown" && lang.Name == "python" && marks(lines, lang) && !strings.Contains(source, `"""`) &&
		!strings.HasSuffix(source, `"`) && !strings.Contains(source, `\`):
		lines = append(append([]string{`"""`}, lines...), `"""`)
	default:
		if d.to == notebooks.FormLight && c.Type == "markdown" && lang.Name == main {
			lang.CommentMagics(lines, main)
		}
		lines = lang.Commented(lines)
	}
	return options, lines, active
}

// marks reports whether lines would begin cells, if they were comments.
func marks(lines []string, lang percent.Language) bool {
	return percent.Marked(lang, []byte(strings.Join(lang.Commented(lines), "\n")))
}
