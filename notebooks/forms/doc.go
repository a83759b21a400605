// Package forms reads a notebook of whichever form: Markdown in its spellings, Jupyter's file, or a script with cells.
//
// It owns the decision which of them a file is. What always holds: a name that ends in .ipynb is Jupyter's, one with
// the ending of a language of scripts is a script's, any other name of a file is Markdown's, and only a source without
// a name is looked at.
//
// It imports notebooks and its readers; what they need it must not import.
package forms
