// Package convert converts a notebook of one form to another: Markmill's own Markdown, Jupytext Markdown, MyST, Quarto,
// R Markdown, percent scripts, Jupyter.
//
// It owns reading a text form as cells, prose and raw cells included (Read), writing them (Document.To), and what a
// form cannot hold (Loss). In between is a Document: cells as Jupyter has them. The fences of Markdown, their options
// and which of them are steps come from markdown.Parse; only what makes prose into cells is read here. Jupytext's
// forms follow Jupytext, so that it reads the same cells.
//
// What always holds: a text that is converted to a Jupyter notebook and back is the same, byte for byte. Every result
// is read back before it is returned: what is missing from it is a Loss, and a cell whose text would be read as
// something else is an error. Every step of a run is a cell of code.
//
// Bytes come in and bytes go out: no process, no clock, no disk. It imports notebooks and its readers.
package convert
