// Package result says what became of a run as data: notebooks.Manifest, and notebooks.ManifestStep for each step. The
// types are the same whether the run is at hand as a record or only as an output notebook.
//
// It owns the fold of a record into a manifest, the reading of steps and parameters from an output notebook, and the
// words for them all. Views, comparisons and reviews use it and never the text of a region: rewording a region
// changes no status, test count or rule.
//
// It may import notebooks, runs, render/safe and render/plain.
package result
