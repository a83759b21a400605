package convert

import (
	"cmp"
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

// usualLanguage returns the canonical name of a language.
func usualLanguage(word string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	switch {
	case strings.HasPrefix(word, "c++"):
		return "c++"
	case strings.HasPrefix(word, "ipython"), word == "python3":
		return "python"
	}
	switch word {
	case "wolfram language":
		return "wolfram"
	case "cs", "c#":
		return "csharp"
	case "fs", "f#":
		return "fsharp"
	}
	return word
}

func sameLanguage(a, b string) bool {
	return usualLanguage(a) == usualLanguage(b) || usualLanguage(a) == "octave" && usualLanguage(b) == "matlab" ||
		usualLanguage(a) == "matlab" && usualLanguage(b) == "octave"
}

// fenceLanguage returns how a language is spelled on a fence of Jupytext's forms.
func fenceLanguage(lang string) string {
	switch lang {
	case "r":
		return "R"
	case "wolfram":
		return "wolfram language"
	}
	return lang
}

// magic strips a cell magic such as %%bash, with its arguments, from the code.
func magic(source, main string) (lang, args, rest string, ok bool) {
	first, rest, _ := strings.Cut(source, "\n")
	word, is := strings.CutPrefix(first, magicMark(main))
	if !is {
		return "", "", source, false
	}
	lang, args, _ = strings.Cut(word, " ")
	if !notebooks.IsCellLanguage(lang) || main == "csharp" && args != "" {
		return "", "", source, false
	}
	return lang, args, rest, true
}

// withMagic adds it again.
func withMagic(lang, args, source, main string) string {
	return strings.TrimSuffix(magicMark(main)+lang+" "+args, " ") + "\n" + source
}

// magicMark returns what begins a cell magic in a notebook of a language.
func magicMark(main string) string {
	if main == "csharp" {
		return "#!"
	}
	return "%%"
}

// takeLanguages makes of the fields "language" of the cells what Jupytext makes of them: nothing for the notebook's
// own, a magic for those that there are magics of. Without a kernel the language of most cells is the notebook's.
func (d *Document) takeLanguages() {
	spec := d.Metadata.object(keyKernelspec)
	jupytext := d.Metadata.object(keyJupytext)
	main := cmp.Or(jupytext.text("main_language"), spec.text("language"))
	if main == "" {
		best := 0.5
		main = "python"
		counts := map[string]float64{"python": 0.5}
		for i := range d.Cells {
			if lang := d.Cells[i].Metadata.text("language"); lang != "" {
				lang = usualLanguage(lang)
				counts[lang]++
				if counts[lang] > best {
					best, main = counts[lang], lang
				}
			}
		}
	}
	main = usualLanguage(main)
	if spec.text("language") == "" && len(d.Cells) > 0 && jupytext.text("main_language") == "" {
		jupytext.Set("main_language", quoted(main))
		d.Metadata.setObject(keyJupytext, jupytext)
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		lang := c.Metadata.text("language")
		switch {
		case lang == "":
		case sameLanguage(lang, main):
			c.Metadata = c.Metadata.without("language")
		case notebooks.IsCellLanguage(lang) && c.Type == "code":
			args := c.Metadata.text("magic_args")
			c.Metadata = c.Metadata.without("language", "magic_args")
			c.Source = withMagic(lang, args, c.Source, main)
		}
	}
}
