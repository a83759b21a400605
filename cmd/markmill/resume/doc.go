// Package resume continues an interrupted or failed run, or a sweep, and makes forks: a new run that carries over the
// first steps of an earlier one. What may be carried over is decided by package engine; the run is made by
// cmd/internal/launch.
package resume
