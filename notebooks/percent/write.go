package percent

import "markmill/notebooks/magics"

// Ending is the ending of the scripts of the language, with its point.
func (l Language) Ending() string { return "." + l.ext }

// CommentMagics puts comment signs before the lines of a cell that only a kernel understands: what reading takes off
// again. lang is the language of the cell.
func (l Language) CommentMagics(lines []string, lang string) {
	if lang == "go" {
		magics.CommentCells(lines)
	}
	magics.Comment(lines, lang, l.sign(lang), l.quotes())
}
