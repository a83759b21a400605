// Package bisect finds the commit, or the value, from which on a notebook fails. It makes runs with
// cmd/internal/launch.
package bisect
