// Package terminal shows a run to a person at a terminal, or to a log where there is none.
//
// It owns the live line and the lines that steps leave (Progress), the line that ends a run
// (Summary, End), the page of a run (Page), and the tables of `markmill runs` and `markmill inspect`.
//
// What always holds: colour and cursor control only where Options or the caller says that a
// terminal is there; no byte of a process or a notebook reaches the terminal raw.
//
// It may import notebooks, runs, render and the packages below it that read texts (plain, html), and never engine.
package terminal
