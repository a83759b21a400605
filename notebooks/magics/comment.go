package magics

import (
	"strings"

	"markmill/notebooks/lazyregexp"
)

var gonbCells = lazyregexp.New(`^((?://\s*)*)(%%\s*$|%%\s+-.*$)`)

// Comment puts comment signs before the commands among the lines of a cell, as Jupytext does: Uncomment with Escaped
// takes them off again. Comments that look like commented commands get a sign more. A line of Go that says gonb:%% by
// itself has no spelling that is read as that line: who converts holds what is read against what was written.
func Comment(lines []string, lang, sign string, q Quotes) {
	l := looks{lang, sign, Escaped}
	goesOn := false
	for i, text := range lines {
		if !q.Inside() {
			switch {
			case goesOn:
				lines[i] = sign + " " + text
			case l.command(commented(text, sign)):
				lines[i] = commented(text, sign)
			case l.cellStart(text) && l.cellStart(unescaped(text, sign)):
				lines[i] = sign + " " + text
			}
			goesOn = (goesOn || l.command(lines[i])) && lang == "python" &&
				strings.HasSuffix(strings.TrimRight(text, " \t"), `\`)
		}
		q.Read(lines[i])
	}
}

// CommentCells puts a comment sign before the commands with which gonb begins a program, as Jupytext does in scripts of
// Go.
func CommentCells(lines []string) {
	for i, text := range lines {
		lines[i] = gonbCells.ReplaceAllString(text, "$1//gonb:$2")
	}
}

// commented puts one comment sign before what a line says, and keeps its indentation.
func commented(text, sign string) string {
	bare := strings.TrimLeft(text, " \t")
	return text[:len(text)-len(bare)] + sign + " " + bare
}
