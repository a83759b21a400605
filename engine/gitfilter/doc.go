// Package gitfilter implements Git's long-running filter process, version 2 of the protocol (gitattributes, "Long
// Running Filter Process"): one process serves one Git command.
//
// It owns the packets and their order. The caller supplies the transformation.
//
// Invariants: an answer is complete, or Serve returns an error before Git can mistake it for a complete one; every
// complete file gets an answer.
//
// It imports nothing of this module.
package gitfilter
