// Package run runs a notebook: once, as a sweep, as attempts that are compared, again where its output is outdated, or
// whenever something is saved. The run itself is made by cmd/internal/launch.
package run
