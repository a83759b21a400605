// Package status says of every notebook whether its output still holds: git status for proofs.
//
// It owns which tree is judged, which notebooks below a path are listed, the command that runs a notebook again, and
// what a gate demands. Package render/review owns the states, and which output belongs to which source; render/fresh
// compares what a run read with the tree.
//
// What always holds: the answer needs no records, only the output notebooks. Nothing is written, and nothing runs but
// programs that are asked for their version, where the notebook declares one and the checkout is judged.
//
// It may import everything but cmd/cmdtest.
package status
