package engine

import "testing"

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"reports/**", "reports/a/b.json", true},
		{"reports/**", "reports", true},
		{"reports/**", "reports2/a", false},
		{"reports/", "reports/a/b", true},
		{"*.go", "a.go", true},
		{"*.go", "sub/a.go", false},
		{"**/*.go", "a.go", true},
		{"**/*.go", "x/y/a.go", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c/y", false},
		{"./a.txt", "a.txt", true},
		{"[ab].txt", "b.txt", true},
		{"**", "anything/at/all", true},
		{"a", "a/b", false},
		{".git/**", ".git/config", true},
	} {
		if got := matchPath(c.pattern, c.path); got != c.want {
			t.Errorf("matchPath(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}

func TestBadPattern(t *testing.T) {
	for _, p := range []string{"[a", "/etc/*", ""} {
		if badPattern([]string{"ok/**", p}) != p {
			t.Errorf("%q passes", p)
		}
	}
	if p := badPattern([]string{"a/**", "*.go"}); p != "" {
		t.Errorf("%q is refused", p)
	}
}
