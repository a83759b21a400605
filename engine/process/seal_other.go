//go:build !linux

package process

// SealDescriptors does nothing on this system.
func SealDescriptors() {}
