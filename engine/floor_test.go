package engine

import (
	"testing"

	"markmill/engine/sandbox"
)

// A server says what its system cannot hold of the floor, and which word lifts that; what is lifted need not be held.
func TestFloorUnheld(t *testing.T) {
	all := sandbox.Offer{System: "linux", Landlock: 6, Network: true, Mounts: true, Limits: true, IPC: true}
	noNetwork := all
	noNetwork.Network, noNetwork.Landlock = false, 3
	for _, one := range []struct {
		name   string
		offer  sandbox.Offer
		lifted []string
		want   string
	}{
		{"all is held", all, nil, ""},
		{"macOS", sandbox.Offer{System: "darwin"}, nil, liftSandbox},
		{"macOS, without the sandbox", sandbox.Offer{System: "darwin"}, []string{liftSandbox}, liftNetwork},
		{"macOS, without either", sandbox.Offer{System: "darwin"}, []string{liftSandbox, liftNetwork}, ""},
		{"no way to turn the network off", noNetwork, nil, liftNetwork},
	} {
		floor, err := NewFloor("", one.lifted)
		if err != nil {
			t.Fatal(err)
		}
		why, lift := floor.Unheld(func(sandbox.Need) sandbox.Offer { return one.offer })
		if lift != one.want || (why == "") != (lift == "") {
			t.Errorf("%s: %q is lifted (%s), not %q", one.name, lift, why, one.want)
		}
	}
	if _, err := NewFloor("", []string{"everything"}); err == nil {
		t.Error("an unknown word is taken")
	}
}
