// Package inject writes parameters as source text: the cell that papermill injects.
//
// It serves where no side channel exists: a Jupyter kernel of another language than Python, and the
// injected-parameters cell of a Jupyter notebook, which people read and run again. Built-in
// kernels never get their values this way.
//
// What always holds: whatever a value holds, the text assigns that value and does nothing else;
// a value that the language cannot hold, and a name that is no variable of it, is an error. Where papermill's text is
// right it is the same, byte for byte; docs/papermill.md lists where it is not.
//
// It imports notebooks.
package inject
