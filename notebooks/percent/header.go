package percent

import (
	"cmp"
	"path"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/magics"
	"markmill/notebooks/markdown"
)

var jupyterKey = lazyregexp.New(`(?m)^jupyter:`)

// spinHeader matches the header of a script of R's whose prose is in comments of #'.
var spinHeader = lazyregexp.New(`(?m)^#' jupyter:`)

// folding matches the marks of cells in light scripts that editors fold, without the sign of the comment.
var folding = lazyregexp.New(`^\s*(\{\{\{|region)`)

// gallery matches the lines that part the cells of a Sphinx gallery.
var gallery = lazyregexp.New(`^# ?#{19,}\s*$`)

// formByMarks returns the form of a script whose header does not name it, as Jupytext finds it: by the marks of cells.
func (r *parser) formByMarks() string {
	if isMarimo(r.Language, r.Source) {
		return "percent" // which is not read by its marks
	}
	marked := Marked(r.Language, r.Source)
	form, lines := "light", 0
	q := r.Language.Strings()
	for _, l := range r.lines {
		if q.Read(l.Text); q.Inside() {
			continue
		}
		rest, comment := strings.CutPrefix(l.Text, r.Language.Comment)
		command := []string{l.Text}
		magics.Comment(command, r.Language.Name, r.Language.Comment, magics.Quotes{})
		switch {
		case marked && !comment && command[0] != l.Text:
			return "hydrogen"
		case comment && folding.MatchString(rest):
			form = "light with " + map[string]string{"{{{": "{{{,}}}", "region": "region,endregion"}[folding.
				FindStringSubmatch(rest)[1]]
		case r.Language.Name == "python" && gallery.MatchString(l.Text):
			if lines++; lines > 1 && form == "light" {
				form = "sphinx"
			}
		case r.Language.Name == "r" && form == "light" && strings.HasPrefix(l.Text, "#'"):
			form = "spin"
		}
	}
	if marked {
		return "percent"
	}
	return form
}

var coding = lazyregexp.New(`coding[:=][ \t]*[-_.a-zA-Z0-9]+`)

// header reads the comments at the head of a script, and gives the index of the line after them.
func (r *parser) header() (next int) {
	sign, i := r.Language.Comment, 0
	if i < len(r.lines) && strings.HasPrefix(r.lines[i].Text, "#!") {
		i++
	}
	if i < len(r.lines) && strings.HasPrefix(r.lines[i].Text, sign) && coding.MatchString(r.lines[i].Text) {
		i++
	}
	next = i
	isMark := func(text string) bool { return strings.TrimRight(r.Language.Bare(text), " \t") == "---" }
	for i < len(r.lines) && strings.HasPrefix(r.lines[i].Text, sign) &&
		strings.TrimSpace(r.Language.Bare(r.lines[i].Text)) == "" {
		i++
	}
	if i == len(r.lines) || !strings.HasPrefix(r.lines[i].Text, sign) || !isMark(r.lines[i].Text) {
		return next
	}
	first := i
	for i++; i < len(r.lines) && strings.HasPrefix(r.lines[i].Text, sign); i++ {
		if !isMark(r.lines[i].Text) {
			continue
		}
		var b strings.Builder
		for _, l := range r.lines[first+1 : i] {
			b.WriteString(r.Language.Bare(l.Text) + "\n")
		}
		end := len(r.Source)
		if i+1 < len(r.lines) {
			end = r.lines[i+1].At
		}
		r.Header = Header{Given: true, Text: b.String(), At: notebooks.Span{Start: r.lines[first].At, End: end},
			first: first + 1}
		if i++; i < len(r.lines) && strings.TrimSpace(r.Language.Bare(r.lines[i].Text)) == "" {
			i++
		}
		return i
	}
	return next
}

// kernel takes from the header how to read the cells.
func (r *parser) kernel() error {
	var head struct {
		Jupyter struct {
			Kernelspec struct {
				Language string `yaml:"language"`
			} `yaml:"kernelspec"`
			Jupytext struct {
				MainLanguage   string `yaml:"main_language"`
				CommentMagics  *bool  `yaml:"comment_magics"`
				CellMarkers    string `yaml:"cell_markers"`
				Representation struct {
					Name string `yaml:"format_name"`
				} `yaml:"text_representation"`
			} `yaml:"jupytext"`
		} `yaml:"jupyter"`
	}
	text := []byte(r.Header.Text)
	if r.Header.Given && yaml.Load(text, &head) != nil {
		// Jupytext puts a raw cell, whatever is in it, before its own key. The mistake in a header without that key is
		// reported where the front matter is read.
		own := jupyterKey.FindIndex(text)
		if own == nil || yaml.Load(text[own[0]:], &head) != nil {
			return nil
		}
	}
	j := head.Jupyter
	lang := cmp.Or(j.Jupytext.MainLanguage, j.Kernelspec.Language)
	switch lang = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(lang)), "#", "sharp"); {
	case strings.HasPrefix(lang, "c++"):
		r.Lang = "c++"
	case lang != "":
		r.Lang = lang
	}
	form, marks := j.Jupytext.Representation.Name, j.Jupytext.CellMarkers
	if form == "" && (jupyterKey.MatchString(r.Header.Text) || spinHeader.Match(r.Source[:min(len(r.Source), 8<<10)])) {
		form = r.formByMarks()
	}
	switch form {
	case "", "percent", "hydrogen":
	case "light":
		if strings.Contains(marks, ",") && marks != "+,-" {
			return r.formError("light with " + marks)
		}
		r.Light = true
	default:
		return r.formError(form)
	}
	r.Header.Jupytext = form != ""
	switch comment := j.Jupytext.CommentMagics; {
	case form == "hydrogen" && (comment == nil || !*comment), comment != nil && !*comment:
		r.plain = true
	case form != "":
		r.which = magics.Escaped
	}
	return nil
}

// prose reports whether the header is no mapping, and no mistake in one of Markmill's: Jupytext makes a raw cell of it.
func (h *Header) prose() bool {
	var value any
	if yaml.Load([]byte(h.Text), &value) != nil {
		return !markdown.NamesKey(h.Text)
	}
	_, mapping := value.(map[string]any)
	return !mapping
}

// place returns the place in the file of one in the text of the header, all from 1.
func (s *Script) place(line, col int) (int, int) {
	i := s.Header.first + line - 1
	if i >= len(s.lines) {
		return len(s.lines), 1
	}
	text := s.lines[i].Text
	return i + 1, col + len(text) - len(magics.Bare(text, s.Language.Comment))
}

// Language is the language of a script, as its extension says.
type Language struct {
	notebooks.Language
	ext string // that the script has, without its point
}

// LanguageOf returns the language of a script by its name; false if the name is not that of a script.
func LanguageOf(name string) (Language, bool) {
	lang, ok := notebooks.LanguageOfScript(name)
	ext := path.Ext(strings.ReplaceAll(name, `\`, "/"))
	return Language{lang, strings.TrimPrefix(ext, ".")}, ok
}

// python returns the language of a text without a name.
func python() Language {
	lang, _ := LanguageOf(".py")
	return lang
}

// sign returns what begins a comment of a language, whatever the extension of the script.
func (l Language) sign(lang string) string {
	if known := notebooks.LanguageNamed(lang); known.Name == lang {
		return known.Comment
	}
	return l.Comment
}

// suffix returns what ends a comment, "" where the line does.
func (l Language) suffix() string { return l.CommentEnd() }

// withoutSuffix returns a line without the sign that ends its comment.
func (l Language) withoutSuffix(text string) string {
	if end := l.suffix(); end != "" {
		if rest, ok := strings.CutSuffix(text, end); ok {
			return strings.TrimSuffix(rest, " ")
		}
	}
	return text
}

// Bare returns a line without the signs of the comment that it is.
func (l Language) Bare(text string) string { return l.withoutSuffix(magics.Bare(text, l.Comment)) }

// Commented returns lines as comments.
func (l Language) Commented(lines []string) []string {
	out := make([]string, len(lines))
	for i, text := range lines {
		out[i] = l.Comment
		if text != "" {
			out[i] += " " + text
		}
		if end := l.suffix(); end != "" {
			out[i] += " " + end
		}
	}
	return out
}

// Extension returns the extension of the script, with its point.
func (l Language) Extension() string { return "." + l.ext }

// CommentMagics comments out the lines of a cell that only a kernel understands; Parse undoes it. lang is the language
// of the cell.
func (l Language) CommentMagics(lines []string, lang string) {
	if l.suffix() != "" {
		return
	}
	if lang == "go" {
		magics.CommentCells(lines)
	}
	magics.Comment(lines, lang, l.sign(lang), l.Strings())
}
