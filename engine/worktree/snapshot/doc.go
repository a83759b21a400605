// Package snapshot keeps what is known of a folder and everything below it, and finds out what changed there: names and
// stats from the last walk, content from the last capture.
//
// A walk lists only folders whose own times changed and marks the files whose content has to be read again; whoever
// captures reads those and clears the marks. A file that cannot be read is an error and never a deletion.
package snapshot
