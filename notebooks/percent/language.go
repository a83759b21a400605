package percent

import (
	"path"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/magics"
)

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
