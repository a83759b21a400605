// Package table has the options of a printed table, and writes it: as text, Markdown, CSV, JSON or Parquet. scraps and
// queries print with it.
package table
