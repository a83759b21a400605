// Package notebooks is the document: a notebook as text, and its steps.
//
// It owns the table of forms (Form), parsing Markdown (Parse) and the cells of other readers (FromCells), parameters
// (Bind), and regions (Splice, Strip). Bytes come in and bytes go out: no process, no clock, no disk, no environment.
//
// What always holds: Strip(Splice(source, any outputs)) == source, byte for byte. What an author
// typed is never rewritten; the package only splices whole regions in and takes them out.
//
// It imports nothing of this module.
package notebooks
