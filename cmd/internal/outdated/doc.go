// Package outdated finds the notebooks whose output is not current, for status, run --outdated and test --outdated.
// What is current is said by cmd/internal/status.
package outdated
