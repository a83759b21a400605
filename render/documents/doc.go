// Package documents reads notebooks, output notebooks, Jupyter notebooks and runs for comparison, as a diff.Document.
//
// It owns the reading of a region's outputs, scraps and patches as package render writes them, and the list of
// Jupyter metadata that is noise. How steps ended it takes from render/result.
//
// What always holds: a Document is a pure function of the bytes. Damaged input is read as far as possible, and the
// Document's Notes say so. A run and its output notebook give the same Document, as far as the output notebook holds
// everything.
//
// It may import notebooks, runs and render, and never engine.
package documents
