// Package runs is the record: what a run was asked, did and left, in a form that a stranger can check.
//
// It owns the events and their hash-linked journal, the fold of a journal into a Run (Run.Add), the Record (a run
// directory, or a tar archive of one) and the digests of its files, the report, verification, and the store of runs.
//
// What always holds: the journal and the source notebook are the truth, and everything else is a fold of the two; a
// journal is only ever appended to; a digest is recomputed when it is read, never trusted. No other package joins the
// paths of a record's files: Record.File does.
//
// It may import notebooks, and neither engine nor render.
package runs
