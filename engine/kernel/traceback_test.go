//go:build unix

package kernel

import (
	"slices"
	"strings"
	"testing"
)

func TestJupyterTraceback(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // without colours
	}{
		{"a frame",
			"Traceback (most recent call last):\n  File \"n.ipynb\", line 4, in <module>\n    1/0\n    ~^~\n" +
				"ZeroDivisionError: division by zero\n", []string{
				strings.Repeat("-", 75), "ZeroDivisionError                         Traceback (most recent call last)",
				"  File \"n.ipynb\", line 4, in <module>\n    1/0\n    ~^~", "ZeroDivisionError: division by zero"}},
		{"a chain, and words of several lines",
			"Traceback (most recent call last):\n  File \"n\", line 1, in f\nKeyError: 'a'\n\nDuring handling of the " +
				"above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"n\", " +
				"line 2, in <module>\n  File \"m.py\", line 3, in g\n    x\nerrors.Own: a\n\n  b\n", []string{
				strings.Repeat("-", 75), "KeyError" + strings.Repeat(" ", 34) + "Traceback (most recent call last)",
				"  File \"n\", line 1, in f\n", "KeyError: 'a'",
				"\nDuring handling of the above exception, another exception occurred:\n",
				"errors.Own" + strings.Repeat(" ", 32) + "Traceback (most recent call last)",
				"  File \"n\", line 2, in <module>\n", "  File \"m.py\", line 3, in g\n    x", "errors.Own: a\n\n  b"}},
		{"no frames", "  File \"n\", line 1\n    a b\n      ^\nSyntaxError: invalid syntax\n",
			[]string{strings.Repeat("-", 75), "  File \"n\", line 1\n    a b\n      ^", "SyntaxError: invalid syntax"}},
		{"a group", "  + Exception Group Traceback (most recent call last):\n  | x\n",
			[]string{"  + Exception Group Traceback (most recent call last):", "  | x"}},
		{"of another language", "Error: no\n    at n:1\n", []string{"Error: no", "    at n:1"}},
		{"nothing", "", []string{""}},
	} {
		got := jupyterTraceback(c.text)
		for i := range got {
			if bare := ansiCodes.ReplaceAllString(got[i], ""); strings.HasPrefix(bare, "---") &&
				!strings.HasPrefix(got[i], "\x1b[31m---") {
				t.Errorf("%s: no colour in %q", c.name, got[i])
			}
			got[i] = ansiCodes.ReplaceAllString(got[i], "")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// FuzzJupyterTraceback: any text is accepted, and none of it is lost.
func FuzzJupyterTraceback(f *testing.F) {
	f.Add(
		"Traceback (most recent call last):\n  File \"n\", line 1, in f\n    x\nE: v\n\nThe above exception was the " +
			"direct cause of the following exception:\n\nTraceback (most recent call last):\nF")
	f.Fuzz(func(t *testing.T, text string) {
		all := strings.Join(jupyterTraceback(text), "\n")
		for line := range strings.Lines(text) {
			if word := strings.TrimSpace(line); len(word) > 0 && !strings.ContainsAny(word, ":\"\x1b") &&
				!strings.Contains(all, word) && !strings.HasPrefix(word, "File") {
				raised := raisedAs.FindString(word)
				if !strings.Contains(all, raised) || !strings.Contains(all, strings.TrimPrefix(word, raised)) {
					t.Fatalf("%q is lost in %q", word, all)
				}
			}
		}
	})
}
