// Package views has the output notebook of a run: where it goes, which views a run leaves, and the JSON documents that
// commands print.
package views
