package sandbox

import (
	"strings"
	"testing"

	"markmill/runs"
)

func TestDecide(t *testing.T) {
	linux := Offer{System: "linux", Landlock: 7, Network: true, Mounts: true, Limits: true}
	bare := Offer{System: "linux", Limits: true}
	mac := Offer{System: "darwin"}
	for _, tc := range []struct {
		name                       string
		wish                       Wish
		offer                      Offer
		writes, network, git, home string
		notHeld                    string // parts, separated by |
		refused                    bool
	}{
		{"the default", Wish{Mode: "on"}, linux, "landlock", "open", "", "user", "", false},
		{"off", Wish{Mode: "off"}, linux, "", "open", "", "user", "", false},
		{"off in place", Wish{Mode: "off", InPlace: true}, bare, "", "open", "", "user", "", false},
		{"strict", Wish{Mode: "strict"}, linux, "landlock", "open", "", "own", "", false},
		{"required", Wish{Mode: "required"}, linux, "landlock", "open", "", "user", "", false},
		{"no Landlock", Wish{Mode: "on"}, bare, "", "open", "", "user", "no Landlock", false},
		{"no Landlock, required", Wish{Mode: "required"}, bare, "", "open", "", "user", "no Landlock", true},
		{"no Landlock, strict", Wish{Mode: "strict"}, bare, "", "open", "", "own", "no Landlock", true},
		{"an early Landlock", Wish{Mode: "on"}, Offer{System: "linux", Landlock: 2, Limits: true}, "landlock", "open",
			"", "user", "truncating", false},
		{"an early Landlock, required", Wish{Mode: "required"}, Offer{System: "linux", Landlock: 2, Limits: true},
			"landlock", "open", "", "user", "truncating", true},
		{"another system", Wish{Mode: "on"}, mac, "", "open", "", "user", "darwin", false},
		{"another system, required", Wish{Mode: "required"}, mac, "", "open", "", "user", "darwin", true},
		{"in place", Wish{Mode: "on", InPlace: true}, linux, "landlock", "open", "read-only", "user", "", false},
		{"in place without mounts", Wish{Mode: "on", InPlace: true}, Offer{System: "linux", Landlock: 7}, "landlock",
			"open", "", "user", "Git directory", false},
		{"in place without mounts, required", Wish{Mode: "required", InPlace: true},
			Offer{System: "linux", Landlock: 7}, "landlock", "open", "", "user", "Git directory", true},
		{"network off", Wish{Mode: "on", NetworkOff: true}, linux, "landlock", "namespace", "", "user", "", false},
		{"network off, sandbox off", Wish{Mode: "off", NetworkOff: true}, linux, "", "namespace", "", "user", "",
			false},
		{"network off by Landlock", Wish{Mode: "on", NetworkOff: true}, Offer{System: "linux", Landlock: 4}, "landlock",
			"landlock-tcp", "", "user", "UDP", false},
		{"network off by Landlock, required", Wish{Mode: "required", NetworkOff: true},
			Offer{System: "linux", Landlock: 4}, "landlock", "landlock-tcp", "", "user", "UDP", true},
		{"network off by nothing", Wish{Mode: "on", NetworkOff: true}, Offer{System: "linux", Landlock: 3}, "landlock",
			"open", "", "user", "the network", true},
		{"network off elsewhere", Wish{Mode: "off", NetworkOff: true}, mac, "", "open", "", "user", "the network",
			true},
		{"processes of root", Wish{Mode: "on", Resources: runs.ResourcesData{Processes: 9, OpenFiles: 9}},
			Offer{System: "linux", Landlock: 7, Limits: true, Root: true},
			"landlock", "open", "", "user", "root", false},
		{"resources elsewhere", Wish{Mode: "off", Resources: runs.ResourcesData{OpenFiles: 9}}, mac, "", "open", "",
			"user", "resources", false},
		{"no filters", Wish{Mode: "on"}, Offer{System: "linux", Landlock: 7, NoFilter: true}, "landlock", "open", "",
			"user", "seccomp", false},
		{"no filters, required", Wish{Mode: "required"}, Offer{System: "linux", Landlock: 7, NoFilter: true},
			"landlock", "open", "", "user", "seccomp", true},
		{"no filters, off", Wish{Mode: "off"}, Offer{System: "linux", Landlock: 7, NoFilter: true}, "", "open", "",
			"user", "", false},
		{"all at once elsewhere", Wish{Mode: "required", NetworkOff: true, InPlace: true,
			Resources: runs.ResourcesData{OpenFiles: 9}}, mac,
			"", "open", "", "user", "darwin|Git directory|the network|resources", true},
	} {
		d := Decide(tc.wish, tc.offer)
		if d.Asked != tc.wish.Mode || d.Writes != tc.writes || d.Network != tc.network || d.Git != tc.git ||
			d.Home != tc.home {
			t.Errorf("%s: %+v", tc.name, d)
		}
		var parts []string
		if tc.notHeld != "" {
			parts = strings.Split(tc.notHeld, "|")
		}
		if len(parts) != len(d.NotHeld) {
			t.Errorf("%s: not held: %q", tc.name, d.NotHeld)
			continue
		}
		refusal := Refusal(tc.wish, d)
		if (refusal != "") != tc.refused {
			t.Errorf("%s: refusal: %q", tc.name, refusal)
		}
		for i, part := range parts {
			if !strings.Contains(d.NotHeld[i], part) {
				t.Errorf("%s: not held: %q does not tell of %q", tc.name, d.NotHeld[i], part)
			}
			if tc.refused && !strings.Contains(refusal, part) {
				t.Errorf("%s: refusal: %q does not tell of %q", tc.name, refusal, part)
			}
		}
	}
	if d := Decide(Wish{Mode: "on", Resources: runs.ResourcesData{Memory: 1, Processes: 2}},
		Offer{System: "linux", Landlock: 7, Limits: true, Root: true}); d.Resources == nil ||
		*d.Resources != (runs.ResourcesData{Memory: 1}) {
		t.Errorf("resources in force: %+v", d.Resources)
	}
}

// TestDecideFilter: every mode but off has the filter; IPC gets a namespace where one is available.
func TestDecideFilter(t *testing.T) {
	linux := Offer{System: "linux", Landlock: 7, Network: true, Mounts: true}
	root := linux
	root.IPC = true
	for _, tc := range []struct {
		name        string
		wish        Wish
		offer       Offer
		filter, ipc string
	}{
		{"on", Wish{Mode: "on"}, linux, "seccomp", "refused"},
		{"strict", Wish{Mode: "strict"}, linux, "seccomp", "refused"},
		{"without Landlock", Wish{Mode: "on"}, Offer{System: "linux"}, "seccomp", "refused"},
		{"root", Wish{Mode: "required"}, root, "seccomp", "namespace"},
		{"network off", Wish{Mode: "on", NetworkOff: true}, linux, "seccomp", "namespace"},
		{"in place", Wish{Mode: "on", InPlace: true}, linux, "seccomp", "namespace"},
		{"off", Wish{Mode: "off"}, root, "", ""},
		{"off, network off", Wish{Mode: "off", NetworkOff: true}, root, "", ""},
		{"no filters", Wish{Mode: "on"}, Offer{System: "linux", Landlock: 7, NoFilter: true, IPC: true}, "", ""},
		{"another system", Wish{Mode: "on"}, Offer{System: "darwin"}, "", ""},
	} {
		if d := Decide(tc.wish, tc.offer); d.Filter != tc.filter || d.IPC != tc.ipc {
			t.Errorf("%s: %q, %q", tc.name, d.Filter, d.IPC)
		}
	}
}
