// Package runs has the commands for single records and for the store: abort, steer, accept and reject, push and pull,
// fetch, attest, prune, maintenance.
package runs
