// Package terminal shows runs to a person at a terminal, or in a log.
//
// It owns the live line and the lines of finished steps (Progress), the lines that end a run (Summary, End), the page
// of a run (Page), the documents of views (Document), and the tables of `markmill runs` and `markmill check --show`.
//
// What always holds: colors and cursor control are used only if Options or the caller says that there is a terminal.
// No byte of a process or a notebook reaches the terminal raw.
//
// It may import notebooks, runs, render and its sub-packages, and never engine.
package terminal
