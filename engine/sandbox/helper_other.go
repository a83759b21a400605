//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"syscall"
)

// Main is the helper, which only Linux has: elsewhere it starts nothing.
func Main(_ []string, stderr io.Writer) int {
	fmt.Fprintf(stderr, "%s: there is no sandbox for %s\n", HelperName, runtime.GOOS)
	return exitRefused
}

// Probe reports that nothing is offered.
func Probe(context.Context, string, Need) Offer { return Offer{System: runtime.GOOS} }

// Attributes has nothing to say.
func (Spec) Attributes(*syscall.SysProcAttr) {}

// Confine has nothing to take.
func (Spec) Confine() error { return nil }

// OnThread is true: there is nothing that a helper could do better.
func (Spec) OnThread() bool { return true }
