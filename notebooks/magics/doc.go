// Package magics knows which comments of a script are commands of a kernel: Jupytext comments out what only IPython, or
// a kernel like it, reads, so that the script is one of its language.
//
// It owns the looks of such lines (Uncomment, and Comment, which it undoes), the taking off of one comment sign (Bare),
// and the texts of several lines in which nothing is a comment (Quotes). It imports nothing of this module.
package magics
