// Package exchange moves records of runs between a store and a Git remote, as refs that no clone fetches by default.
//
// Each record is a commit without a checkout below RefPrefix: its tree holds the files of the run directory, so that
// any Git shows them (git show refs/markmill/records/RUN:report.md). It owns that form, the transport (go-git), and the
// bounds of what a remote may send.
//
// What always holds: objects and refs are made in a scratch repository that the caller removes, never in the user's; a
// remote ref is never forced; what a remote sends is bounded in bytes and files before it is unpacked, and only regular
// files with local names are written, below the folder that the caller gives.
package exchange
