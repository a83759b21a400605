//go:build !linux

package kernel

// startAndWait is only used on Linux, where an interpreter dies with the engine.
func startAndWait() {}
