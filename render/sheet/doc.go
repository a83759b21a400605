// Package sheet shows the scraps of many notebooks as one table, a row per notebook or a row per scrap: for a
// terminal, or as Markdown, JSON, CSV or Parquet.
//
// It owns the names and the order of the columns, and the format of values in each form.
//
// What always holds: equal notebooks give equal bytes in every form. Values are shown as the notebook has them
// (numbers are not rounded), and escaped where a terminal or a page would act on them.
//
// It may import notebooks, runs and the packages of render.
package sheet
