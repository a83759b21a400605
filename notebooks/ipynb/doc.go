// Package ipynb is Jupyter's notebook file: nbformat 4.0 to 4.5, and 3 and 2 read as if they were 4.
//
// Begin at Parse and Notebook (read.go, notebook.go). The package also owns writing a new notebook (Draft, build.go),
// the cells as the steps of a run with the front matter (Runnable, steps.go, front.go), old notebooks as new ones
// (Upgraded), what a run leaves and how it is taken out again (With, Source, Damage), changing (Apply, source.go) and
// stripping (Strip). A notebook is its source and the places of its parts in it, so that what is not changed keeps its
// bytes: the spelling of numbers, the order of names, the indentation, escapes, names that nobody knows, the end of the
// file.
//
// What always holds: what a Draft gives is nbformat 4.5 and is the same each time; Apply without edits gives the
// source, byte for byte; Strip of what Strip gave changes nothing; Source of what With gave is the source that it was
// given. Bytes come in and bytes go out: no process, no clock, no disk.
package ipynb
