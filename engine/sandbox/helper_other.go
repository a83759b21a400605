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

// Probe says that nothing is offered.
func Probe(context.Context, string, Need) Offer { return Offer{System: runtime.GOOS} }

// Attributes has nothing to say.
func (Spec) Attributes(*syscall.SysProcAttr) {}
