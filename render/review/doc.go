// Package review describes what became of the notebooks between two commits, for a pull request.
//
// It owns the view and its document, which comments, the terminal and pages show, which files are notebooks, which
// output belongs to which source, the state of an output (fresh, stale, edited, damaged, missing, failed), which
// findings are objections, and the Markdown and JSON of a review.
//
// What always holds: a review is a pure function of the two trees. It reads no file without need. No path and no text
// of a notebook becomes markup, a mention, or a command in a comment or a workflow log.
//
// It may import notebooks, render and its sub-packages, and never engine: the trees are passed in.
package review
