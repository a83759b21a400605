//go:build !linux

package testhome

// Memory says that only on Linux a folder is known to be in memory.
func Memory() string { return "" }
