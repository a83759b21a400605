// Package forms reads a notebook of any form: Markdown, Jupyter's file, or a script with cells.
//
// It owns the detector (Detect) and the table of readers. What always holds: the extension of a file name decides (the
// table is in package notebooks); a name without a known extension is Markdown; only the content of standard input is
// examined.
//
// It imports notebooks and its readers, and none of them imports it.
package forms
