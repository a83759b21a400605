// Package sheet shows the scraps of many notebooks as one table: a row a notebook, or a row a scrap; for a terminal, as
// Markdown, JSON, CSV or Parquet.
//
// It owns the names and the order of the columns, and how a value looks in each form.
//
// What always holds: equal notebooks give equal bytes in every form; a value is told as the notebook has it (numbers
// are not rounded), and what a terminal or a page would act upon is escaped there.
//
// It may import notebooks, runs and render's own packages.
package sheet
