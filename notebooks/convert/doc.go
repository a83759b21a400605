// Package convert writes a notebook of one form in another: Markmill's own Markdown, Jupytext Markdown, MyST, Quarto, R
// Markdown, percent scripts, Jupyter.
//
// It owns the reading of every cell of a text form, prose and raw cells too (Read), their writing (Document.Bytes), and
// what a form has no place for (Loss). Between them stands a Document: cells as Jupyter has them. The conventions of
// Jupytext's forms are Jupytext's, so that it reads what is written here to the same cells.
//
// What always holds: a text that is converted to a Jupyter notebook and back is the same, byte for byte; what is
// written is read again before it is given away, and all that is not in it is told; a cell whose text would be read as
// something else is an error. The cells of code are the steps that a run of the text has.
//
// Bytes come in and bytes go out: no process, no clock, no disk. It imports notebooks and its readers.
package convert
