// Package compare compares the outputs of a notebook's steps with stored ones.
//
// It owns the common form of outputs (Output, Step), which Markdown reads from an output notebook and Jupyter from a
// Jupyter notebook; the choice of compared steps; the masking of both sides; and the unified diff. Sanitize reads
// nbval's file of rules.
//
// What always holds: the same rules mask both sides; differences are shown by line, at any size; a diff holds no
// control character and is valid UTF-8.
//
// It may import notebooks, runs, and render; never engine or cmd.
package compare
