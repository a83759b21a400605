// Package quote writes paths as Git does in a patch, and as a run's record has them.
//
// Both ways lose nothing: Unquote undoes Path, and Raw undoes Shown.
package quote
