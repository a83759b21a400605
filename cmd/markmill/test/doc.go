// Package test runs notebooks again and compares what comes of it with their stored outputs. How outputs are compared
// is in cmd/internal/retest.
package test
