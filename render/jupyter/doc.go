// Package jupyter writes output notebooks in Jupyter's form: the source with outputs, counts and the metadata that
// papermill leaves, the injected parameters as a cell, and the manifest in the metadata.
//
// It owns what an output of nbformat is made of (from a record, or from an output notebook in Markdown), the cells that
// are added, widgets, and the text in which Git compares Jupyter notebooks.
//
// What always holds: a notebook is a pure function of source and record, and ipynb.Source gives back the source.
//
// It may import notebooks, runs, render/result and render/safe.
package jupyter
