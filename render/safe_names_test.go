package render_test

import (
	"testing"

	"markmill/render/safe"
	"markmill/runs"
)

func TestPathNames(t *testing.T) {
	names := safe.NewNames([]runs.PathName{
		{Path: "/home/u", Name: "<home>"},
		{Path: "/home/u/.cache/wt/7", Name: "<worktree>"},
		{Path: "/tmp", Name: "<tmp>"},
		{Path: `C:\Users\u`, Name: "<home>"},
		{Path: "/", Name: "<root>"},
	})
	for _, c := range []struct{ in, want string }{
		{"/home/u/.cache/wt/7/a.go:3", "<worktree>/a.go:3"},
		{"in /home/u/.cache/wt/7.", "in <worktree>."},
		{"/home/u/.cache/wt/77/a", "<home>/.cache/wt/77/a"},
		{"/home/user/a", "/home/user/a"},
		{"/home/u.bak", "/home/u.bak"},
		{"-I/tmp/x -L/tmp", "-I<tmp>/x -L<tmp>"},
		{"/var/tmp/x a/b/tmp/c", "/var/tmp/x a/b/tmp/c"},
		{"file:///tmp/x", "file://<tmp>/x"},
		{`"/tmp":"/tmp"`, `"<tmp>":"<tmp>"`},
		{"/tmp", "<tmp>"},
		{`at C:\Users\u\x`, `at <home>\x`},
		{`C:/Users/u/x`, `<home>/x`},
		{`"C:\\Users\\u\\x"`, `"<home>\\x"`},
		{"a / b", "a / b"},
	} {
		if got := names.Replace(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}
