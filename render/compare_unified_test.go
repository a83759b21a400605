package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/render/compare"
)

// TestUnifiedApplies: a diff applied to one text gives the other; equal texts have an empty diff.
func TestUnifiedApplies(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "- e", "+++ f"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(line, 0, 40).Draw(t, "a"), rapid.SliceOfN(line, 0, 40).Draw(t, "b")
		if rapid.Bool().Draw(t, "near") { // mostly equal texts
			b = append([]string(nil), a...)
			for range rapid.IntRange(0, 3).Draw(t, "edits") {
				if len(b) > 0 {
					b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = "new"
				}
			}
		}
		diff := compare.Unified("was", "is", a, b)
		if (diff == "") != (strings.Join(a, "\n") == strings.Join(b, "\n") && len(a) == len(b)) {
			t.Fatalf("%q and %q give %q", a, b, diff)
		}
		if got := apply(t, a, diff); strings.Join(got, "\n") != strings.Join(b, "\n") || len(got) != len(b) {
			t.Fatalf("%q with\n%s\ngives %q, not %q", a, diff, got, b)
		}
	})
}

var head = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`)

// apply applies a unified diff, and checks its counts and context.
func apply(t *rapid.T, a []string, diff string) []string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	if diff == "" {
		return a
	}
	var out []string
	at := 0
	for i := 2; i < len(lines); {
		m := head.FindStringSubmatch(lines[i])
		if m == nil {
			t.Fatalf("line %d of\n%s\nis no head of a hunk", i, diff)
		}
		count := func(s string) int {
			if s == "" {
				return 1
			}
			n, _ := strconv.Atoi(s)
			return n
		}
		from, _ := strconv.Atoi(m[1])
		n, come := count(m[2]), count(m[4])
		if n > 0 {
			from--
		}
		out = append(out, a[at:from]...)
		at = from
		for i++; n > 0 || come > 0; i++ {
			switch lines[i][0] {
			case ' ':
				if a[at] != lines[i][1:] {
					t.Fatalf("the context %q is not line %d", lines[i], at)
				}
				out = append(out, a[at])
				at, n, come = at+1, n-1, come-1
			case '-':
				if a[at] != lines[i][1:] {
					t.Fatalf("%q is not line %d", lines[i], at)
				}
				at, n = at+1, n-1
			case '+':
				out = append(out, lines[i][1:])
				come--
			}
		}
	}
	return append(out, a[at:]...)
}

// TestUnifiedMatchesDiff compares the format with diff -u.
func TestUnifiedMatchesDiff(t *testing.T) {
	if _, err := exec.LookPath("diff"); err != nil {
		t.Skip("no diff on this machine")
	}
	dir := t.TempDir()
	for _, c := range [][2]string{
		{"a b c d e f g h i j", "a b c d E f g h i j"}, {"a b", "a b c"}, {"a", "b"}, {"", "a b"}, {"a b", ""},
		{"a b c d e f g h i j k l m n o p", "X b c d e f g h i j k l m n o Y"}, {"a b c d e f g h", "X b c d e f g Y"},
		{"a b c d e f g h i", "X b c d e f g h Y"},
	} {
		var files [2]string
		for i, text := range c {
			files[i] = filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(files[i], []byte(strings.Join(append(strings.Fields(text), ""), "\n")),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := exec.Command("diff", "-u", "--label", "x", "--label", "y", files[0], files[1]).Output()
		if got := compare.Unified("x", "y", strings.Fields(c[0]), strings.Fields(c[1])); got != string(want) {
			t.Errorf("%q to %q:\n%swant\n%s", c[0], c[1], got, want)
		}
	}
}
