// Package render makes the views of a run: the output notebook, the report for people, the test log, and comparisons
// as a comment on a forge.
//
// It owns the Markdown output notebook (what a region holds, how results are shown) and the choice of its form. Its
// sub-packages: plain makes bytes safe to show, safe cleans the text of a run and quotes Markdown, result holds what
// became of a run as data, jupyter writes Jupyter's form. The others are views, or read what views left.
//
// What always holds: a view is a pure function of the notebook, the folded journal and the files of the run
// directory, so it can be made again and compared byte for byte. An output notebook holds no time, duration, host,
// process id, run id or absolute path. Streams are never read whole.
//
// It may import notebooks and runs, and never engine.
package render
