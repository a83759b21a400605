// Package result says what became of the steps of a run: one type, notebooks.ManifestStep, whether the run is at hand
// as a record or only as an output notebook.
//
// It owns the reading of that type from both, and its words. Views, comparisons and reviews use it and never the text
// of a region: rewording a region changes no status, test count or rule.
//
// The one exception is firstpreview.go. Output notebooks of the first preview (manifests of format 0) hold results only
// in the summary lines of their regions, and nothing else may use that file.
//
// It imports notebooks and runs.
package result
