// Package records does for commands what changes the record of a run or what came of it: abort, apply and revert its
// change, and complete what a kill left.
package records
