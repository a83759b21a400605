// Package verify recomputes a record from its bytes, and runs it again on request. What it could not look at it says.
package verify
