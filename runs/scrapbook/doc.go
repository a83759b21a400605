// Package scrapbook reads and writes the outputs in which Python's package scrapbook, and papermill before it, keep
// values in a Jupyter notebook.
//
// It owns their MIME types and metadata, and maps the values of their encoders to scraps.
//
// Invariants: Read never fails: a malformed payload is not a scrap, and the value of an unknown encoder is kept as it
// is, with the encoder's name. scrapbook reads what this package writes as the same value.
//
// It may import notebooks/codec, runs and runs/parquet.
package scrapbook
