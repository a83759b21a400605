// Package patch writes and reads the change of files as `git diff --full-index --binary` has it.
//
// Every patch that is written is read back and applied in memory (Delta.Verify): what is recorded gives the new
// content, or is an error. Parse reads what this package and Git write, and takes hostile input: it is fuzzed. go-git's
// encoder of patches writes no binary content; bluekeyes/go-gitdiff 0.9 misreads a quoted name that ends in a
// backslash.
package patch
