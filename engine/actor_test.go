package engine

import (
	"testing"

	"markmill/runs"
)

// TestOwn: an approval is the requester's own by the name of the person, and by the account that acted for them.
func TestOwn(t *testing.T) {
	alice := runs.Person{User: runs.Via("alice", "svc"), Email: "git@example.org"}
	for _, c := range []struct {
		requester         runs.Person
		actor, principals string
		want              bool
	}{
		{runs.Person{User: "ann"}, "ann", "", true},
		{runs.Person{User: "ann"}, "bob", "", false},
		{runs.Person{User: "ann", Email: "ann@x.org"}, "bob", "ann@x.org", true},
		{alice, "alice via svc", "", true},
		{alice, "bob via svc", "", false},
		{alice, "svc", "", true},
		{alice, "alice", "", false}, // another user of the system
		{alice, "x", "alice", true},
		{alice, "x", "svc", true},
		{alice, "x", "git@example.org", true},
		{alice, "x", "bob@example.org", false},
	} {
		if got := own(c.requester, c.actor, c.principals); got != c.want {
			t.Errorf("%v by %q %q: %v", c.requester, c.actor, c.principals, got)
		}
	}
	for name, want := range map[string]bool{"a": true, "a.b-c_d+e@f.org": true, "": false, "-a": false, "a b": false,
		"a via b": false, "é": false, "a\n": false, "*": false} {
		if runs.IsPerson(name) != want {
			t.Errorf("IsPerson(%q) is %v", name, !want)
		}
	}
}
