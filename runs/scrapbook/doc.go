// Package scrapbook reads and writes the outputs in which Python's package scrapbook, and papermill before it, keep
// values in a Jupyter notebook.
//
// It owns their MIME types and metadata, and what each of their encoders means as a scrap of ours.
//
// What always holds: Read never fails: a payload that is none is no scrap, and a value of an encoder that is not known
// is kept as it stands, with the encoder's name. What Write makes scrapbook reads back as the same value.
//
// It may import notebooks/codec, runs and runs/parquet.
package scrapbook
