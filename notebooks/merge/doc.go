// Package merge merges two changed notebooks with the one that both come from, step by step.
//
// It owns the three-way merge of lines (Lines), of the order of steps and the prose between them, and of Jupyter's
// cells and their metadata (Notebooks). Which steps are the same is what package diff finds.
//
// What always holds: what one side alone changed is in the result; what both changed in the same way is in it once;
// every line of the two sides is in the result unless the other side took it out, and a conflict holds both. A side
// that is the base gives the other side, byte for byte; what is not changed is never printed anew. Swapping the sides
// gives the same result up to the order within conflicts. Outputs never conflict. A merged Jupyter notebook is valid
// JSON: its conflicts are in the texts of its cells.
//
// Bytes come in and bytes go out: no process, no clock, no disk. It imports notebooks and its own sub-packages, and
// nothing else of this module.
package merge
