// Package region puts the regions of an output notebook into a source (Splice) and takes them out (Strip).
//
// What always holds: Strip(Splice(source, any outputs)) == source, byte for byte. What an author typed is never
// rewritten; the package only adds and removes whole regions. It reads no steps.
package region
