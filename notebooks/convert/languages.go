package convert

import (
	"cmp"
	"strings"

	"markmill/notebooks"
)

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
