// Package review says what became of the notebooks between two commits, for a pull request.
//
// It owns which files are notebooks, which output is whose, how an output stands to its source (fresh, stale, edited,
// damaged, missing, failed), what of it all is an objection, and the views: Markdown for a comment on a forge, a
// terminal, JSON.
//
// What always holds: a review is a pure function of the two trees; a file that nothing points to is not read; nothing
// that a path or a notebook holds is markup, a mention or a command in a comment or in the log of a workflow.
//
// It may import notebooks, render and its sub-packages, and never engine: the trees are handed in.
package review
