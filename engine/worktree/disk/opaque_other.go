//go:build !linux

package disk

// Opaque is false: overlays are Linux's.
func Opaque(string) bool { return false }
