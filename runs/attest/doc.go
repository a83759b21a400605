// Package attest states, in a form that other tools read, what a finished run produced, from what and by whom: an
// in-toto Statement v1 with a SLSA provenance v1 predicate, in a DSSE envelope that an Ed25519 key signs.
//
// It owns the statement, the envelope and key parsing. Invariants: a run's statement is derived from its record alone,
// so the same run gives the same bytes; Verify returns a payload only if its signature is valid.
//
// It may import notebooks and runs; never engine, render or cmd.
package attest
