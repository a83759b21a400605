// Package show shows a run or an output notebook: in the terminal or as a page, with its log, its trace and its events.
// It changes nothing.
package show
