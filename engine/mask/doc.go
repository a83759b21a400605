// Package mask keeps the values of secrets out of what a run writes and shows.
//
// It owns which spellings of a value are known (forms.go), the search for all of them in one pass
// (automaton.go, cursor.go), and the masking of streams, texts and JSON. It reads no environment and
// writes no file.
//
// What always holds: what comes out of a stream does not depend on how it was cut into writes, and
// holds no known spelling of a value that was not there by the masking itself; a nil Set masks nothing
// and finds nothing.
//
// It may import notebooks; never runs, nor the rest of engine.
package mask
