// Package nbdime writes the difference of two Jupyter notebooks in the diff format of nbdime
// (nbdime/diff_format.schema.json), which its patch_notebook applies.
//
// What always holds: the first notebook, patched, is the second: as nbformat reads the two, which joins lists of
// lines and leaves out what is transient. The format knows no moves: a cell that moved goes and comes.
//
// It imports notebooks/codec, notebooks/diff, notebooks/ipynb and notebooks/linediff, and nothing else of this module.
package nbdime
