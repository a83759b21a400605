package sandbox

import (
	"fmt"
	"strings"

	"markmill/runs"
)

// What restricts a step's network, in runs.SandboxData and Spec.
const (
	NetworkOpen      = "open"
	NetworkNamespace = "namespace"    // only a private loopback
	NetworkTCP       = "landlock-tcp" // no TCP; UDP is not restricted
	networkABI       = 4              // the first Landlock ABI that restricts TCP
	wholeABI         = 3              // the first Landlock ABI that covers truncation and renaming between folders
)

// Wish is what a notebook asks for.
type Wish struct {
	Mode       string // on, off, strict, required
	NetworkOff bool
	InPlace    bool // steps work in the user's checkout
	Resources  runs.ResourcesData
}

// Need lists what must be probed, because it takes a process to find out.
type Need struct{ Network, Mounts, IPC bool }

// Need returns what a wish requires to be probed.
func (w Wish) Need() Need {
	return Need{Network: w.NetworkOff, Mounts: w.InPlace && w.Mode != "off", IPC: w.Mode != "off"}
}

// Offer is what the system can do.
type Offer struct {
	System   string // runtime.GOOS
	Landlock int    // ABI version; 0 is none
	Network  bool   // a network namespace can be created
	Mounts   bool   // a mount namespace can be created
	Limits   bool   // resource limits can be set
	Root     bool   // the number of processes cannot be limited
	NoFilter bool   // system calls cannot be refused by their arguments
	IPC      bool   // an IPC namespace can be created without a user namespace
}

// HoldsWrites reports whether steps can write no file outside of what they are given.
func HoldsWrites(d runs.SandboxData) bool { return d.Writes != "" && d.Landlock >= wholeABI }

// Decide returns what will be in force. NotHeld lists what was requested but the system cannot do.
func Decide(w Wish, o Offer) runs.SandboxData {
	d := runs.SandboxData{Asked: w.Mode, Home: "user", Network: NetworkOpen}
	lacks := func(format string, args ...any) { d.NotHeld = append(d.NotHeld, fmt.Sprintf(format, args...)) }
	if w.Mode == "strict" {
		d.Home = "own"
	}
	switch {
	case w.Mode == "off":
	case o.Landlock == 0 && o.System != "linux":
		lacks("what steps write: there is no sandbox for %s", o.System)
	case o.Landlock == 0:
		lacks("what steps write: this kernel has no Landlock, or it is not enabled")
	default:
		d.Writes, d.Landlock = "landlock", o.Landlock
		if o.Landlock < wholeABI {
			lacks("truncating files by their path: Landlock %d of this kernel cannot hold it", o.Landlock)
		}
	}
	if w.InPlace && w.Mode != "off" {
		if o.Mounts && d.Writes != "" {
			d.Git = "read-only"
		} else {
			lacks("the Git directory and the records of runs in the checkout: no mount namespace can be made")
		}
	}
	if w.NetworkOff {
		switch {
		case o.Network:
			d.Network = NetworkNamespace
		case o.Landlock >= networkABI:
			d.Network, d.Landlock = NetworkTCP, o.Landlock
			lacks("UDP: no network namespace can be made, and Landlock holds TCP only")
		default:
			lacks("the network: no network namespace can be made")
		}
	}
	if w.Mode != "off" && o.System == "linux" {
		if o.NoFilter {
			lacks("limits, priorities, IPC and keys of other processes: this kernel has no seccomp filters")
		} else {
			d.Filter, d.IPC = "seccomp", "refused"
			if o.IPC || d.Network == NetworkNamespace || d.Git != "" {
				d.IPC = "namespace"
			}
		}
	}
	if (w.Resources != runs.ResourcesData{}) {
		if r := w.Resources; o.Limits {
			if r.Processes > 0 && o.Root {
				r.Processes = 0
				lacks("the number of processes: the system does not limit root")
			}
			if (r != runs.ResourcesData{}) {
				d.Resources = &r
			}
		} else {
			lacks("resources: they cannot be limited on %s", o.System)
		}
	}
	return d
}

// Refusal returns why a run may not start with what is in force, or "". A required or strict sandbox must be complete,
// and a network that is off must be blocked in some way.
func Refusal(w Wish, d runs.SandboxData) string {
	switch {
	case len(d.NotHeld) == 0:
		return ""
	case w.Mode == "required" || w.Mode == "strict":
		return fmt.Sprintf("sandbox: %s cannot be had here. Not held: %s", w.Mode, strings.Join(d.NotHeld, "; "))
	case w.NetworkOff && d.Network == NetworkOpen:
		return "network: off cannot be had here. Not held: " + strings.Join(d.NotHeld, "; ")
	}
	return ""
}
