// Package compare holds what a notebook's steps left against what they left before.
//
// It owns the form in which two outputs are compared (Output, Step), which is that of no file: Markdown makes one of an
// output notebook, Jupyter of a Jupyter notebook; which steps count (Which); the masking of both sides; and the unified
// diff of what is off. Sanitize reads the rules that nbval keeps in a file.
//
// What always holds: both sides are masked by the same rules; a difference is told by its lines, at
// any size; a diff has no control character and no byte that is not UTF-8.
//
// It may import notebooks, runs, and render; never engine or cmd.
package compare
