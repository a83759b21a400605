// Package render makes the views of a run: the output notebook, the report for people, the test log.
//
// It owns the output notebook in Markdown and as Jupyter's, each of a notebook of either form; what stands in a region
// of it, how long output is cut, which paths and which varying text are shown by name, and how bytes that would mislead
// a reader are shown. Its sub-package plain makes text safe, and terminal is the view on a terminal.
//
// What always holds: a view is a pure function of the notebook, the folded journal and the files of
// the run directory, so that it can be made again and compared byte for byte. An output notebook
// holds no time, duration, host, process id, run id or absolute path. Streams are never read whole.
//
// It may import notebooks and runs, and never engine.
package render
