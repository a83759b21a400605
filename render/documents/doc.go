// Package documents reads notebooks, output notebooks, Jupyter notebooks and runs as what is compared:
// a diff.Document.
//
// It owns the reading of a region as package render writes it, of a patch, and which metadata of
// Jupyter is noise.
//
// What always holds: a Document is a pure function of the bytes; what is damaged is read as far as it
// can be, and the Document's Notes say so. A run and its output notebook give the same Document, as far as
// the output notebook holds it all.
//
// It may import notebooks, runs and render, and never engine.
package documents
