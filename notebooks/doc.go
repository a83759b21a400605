// Package notebooks holds the types of a document that all packages share: Notebook, Step, Front, Param and Value,
// Error, the table of forms, and the manifest of an output notebook, with the places of a text.
//
// The packages below it read and change the bytes: markdown and forms (readers), params (values by their declared
// type), region (outputs spliced into a source and stripped). Bytes come in and bytes go out: no process, no clock, no
// disk, no environment.
//
// It imports only codec, ansi and magics.
package notebooks
