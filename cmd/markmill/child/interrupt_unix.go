//go:build unix

package child

import "os"

// interrupt asks a program to end, as Ctrl-C does.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
