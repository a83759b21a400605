// Package attest says of a finished run, in a form that other tools read, what it made, from what and
// by whom: an in-toto Statement v1 with a SLSA provenance v1 predicate, in a DSSE envelope that an Ed25519
// key signs.
//
// It owns the statement, the envelope and the reading of keys. What always holds: the statement of a run is
// a fold of its record, so that the same run gives the same bytes; a payload comes out of an envelope only
// when its signature holds.
//
// It may import notebooks and runs; never engine, render or cmd.
package attest
