// Package markdown reads notebooks in Markdown (Parse): fences in the info strings of every form, the steps, attributes
// and tags in them, and the front matter. FromCells does the same for the cells that the reader of another form found.
//
// Parse reports every mistake, each with its place, and never changes a byte of the source.
package markdown
