package convert

import (
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
	lang, ok := percent.LanguageOf(d.out)
	if !ok {
		lang, _ = percent.LanguageOf(".py")
	}
	own := d.textMetadata()
	own.setObject(keyJupytext, d.representation(lang.Extension(), "percent", "1.3"))
	header, fromCell := d.jupytextHeader(own)
	p := &page{cells: make([]string, len(d.Cells))}
	lines := strings.Split(strings.TrimSuffix(header, "\n"), "\n")
	p.header = strings.Join(commentLines(lines, lang.Comment), "\n") + "\n"
	main := d.Language()
	for i := range d.Cells {
		if i > 0 || !fromCell {
			p.cells[i] = d.percentCell(&d.Cells[i], lang, main)
		}
	}
	p.space()
	return p, nil
}

func (d *Document) percentCell(c *Cell, lang percent.Language, main string) string {
	fields := d.fields(c)
	source := c.Source
	ext := strings.TrimPrefix(lang.Extension(), ".")
	active := c.Type == "code" && percent.Active(fields.Get, ext)
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
	options := optionText(strings.Join(head, " "), fields)
	marker := lang.Comment + " %%"
	if options != "" && !strings.HasPrefix(options, "%") {
		marker += " "
	}
	marker += options + "\n"
	lines := strings.Split(source, "\n")
	switch {
	case c.Type == "code" && active:
		if source == "" {
			return marker
		}
		lang.CommentMagics(lines, main)
	case c.Type != "code" && percent.Active(fields.Get, ext) && fields.Has("active"):
	case c.Type == "markdown" && lang.Name == "python" && marks(lines, lang) && !strings.Contains(source, `"""`) &&
		!strings.HasSuffix(source, `"`) && !strings.Contains(source, `\`):
		lines = append(append([]string{`"""`}, lines...), `"""`)
	default:
		lines = commentLines(lines, lang.Comment)
	}
	text := strings.Join(lines, "\n") + "\n"
	if tail := len(source) - len(strings.TrimRight(source, "\n")); tail > 1 && c.Type == "code" && active {
		text += "\n"
	}
	return marker + text
}

// marks reports whether lines would begin cells, if they were comments.
func marks(lines []string, lang percent.Language) bool {
	return percent.Marked(lang, []byte(strings.Join(commentLines(append([]string(nil), lines...), lang.Comment), "\n")))
}

func commentLines(lines []string, sign string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = sign
		if l != "" {
			out[i] += " " + l
		}
	}
	return out
}
