// Package summary sums up what is known of the coding agents of a repository: which of the six stages of proof each has
// passed (notebooks with proof: in their front matter), by which run and at which level; whether it is eligible, which
// follows from the proofs, and whether it is active, which a person decides in markmill.yaml; and what to do next.
//
// What always holds: everything is derived, each time, from the notebooks of the checkout, the records, and
// markmill.yaml. Nothing is written, no program is started, and no value of a secret is read.
package summary
