// Package mask keeps secret values out of what a run writes and shows.
//
// It owns the known spellings of a value (forms.go), the one-pass search for all of them (masker.go), and
// the masking of streams, texts and JSON. It reads no environment and writes no file.
//
// Invariants: a stream's output does not depend on how its input was split into writes, and contains no known spelling
// of a value except one that masking itself created; a nil Set masks nothing and finds nothing.
//
// It may import notebooks; never runs, nor the rest of engine.
package mask
