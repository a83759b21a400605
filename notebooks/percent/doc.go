// Package percent is a script whose cells begin with comments of "%%", the form of Spyder, VS Code and Jupytext, or are
// set apart by empty lines and "# +", Jupytext's light form.
//
// It owns which scripts there are (Language), the decision whether a text is one with cells (Marked), reading (Parse)
// and the cells as the steps of a run (Script.Runnable). What it reads as a cell is what Jupytext reads: docs/format.md
// has where it does not.
//
// What always holds: every line of a cell's source is a line of the file, and the cells, the header and the empty lines
// between them are the whole file. Bytes come in and bytes go out: no process, no clock, no disk. It imports notebooks,
// magics and codec.
package percent
