// Package diff compares two notebooks, outputs, runs, revisions or folders, and the values of several runs.
package diff
