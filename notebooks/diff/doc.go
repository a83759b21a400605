// Package diff compares notebooks: which cells are the same, moved, edited or new, and what changed in
// each, in what came out of it and in what it did to the worktree.
//
// It owns the neutral model of what is compared (Document), the matching of cells (Match), and the
// comparison (Compare). A Document is made elsewhere: of Markdown and of runs by render/documents.
//
// What always holds: the result is a pure function of the two documents and the options, the same
// each time; Compare(a, a) is empty; the time is near linear in the size of the documents, because no
// step of it compares all with all.
//
// It imports notebooks/codec, notebooks/linediff and notebooks/lazyregexp, and nothing else of this module.
package diff
