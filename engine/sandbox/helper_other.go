//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"syscall"
)

// Main returns an error: only Linux has the helper.
func Main(_ []string, stderr io.Writer) int {
	fmt.Fprintf(stderr, "%s: there is no sandbox for %s\n", HelperName, runtime.GOOS)
	return exitRefused
}

// Probe reports that nothing is offered.
func Probe(context.Context, string, Need) Offer { return Offer{System: runtime.GOOS} }

// Attributes returns nil.
func (Spec) Attributes(*syscall.SysProcAttr) {}

// Confine does nothing.
func (Spec) Confine() error { return nil }

// OnThread returns true: a helper could do no more.
func (Spec) OnThread() bool { return true }

// Writable is false: no sandbox refuses anything here.
func Writable(string) bool { return false }
