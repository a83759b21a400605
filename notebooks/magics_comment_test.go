package notebooks_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks/magics"
)

// gonbMark is a commented command of gonb.
var gonbMark = regexp.MustCompile(`^((?://\s*)*)//\s*gonb:%%`)

func TestComment(t *testing.T) {
	for _, c := range []struct{ lang, sign, in, want string }{
		{"python", "#", "%matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1"},
		{"python", "#", "!ls \\\n  -l\ny", "# !ls \\\n#   -l\ny"},
		{"python", "#", "# copy the table", "# # copy the table"},
		{"python", "#", "if x:\n    !ls", "if x:\n    # !ls"},
		{"python", "#", "s = '''\n%matplotlib\n'''", "s = '''\n%matplotlib\n'''"},
		{"python", "#", "files = !ls", "# files = !ls"},
		{"python", "#", "# # +", "# # # +"},
		{"python", "#", "# +", "# +"},
		{"rust", "//", ":dep x", "// :dep x"},
	} {
		lines := strings.Split(c.in, "\n")
		magics.Comment(lines, c.lang, c.sign, magics.Quotes{Comment: c.sign, Triple: true})
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.lang, c.in, got, c.want)
		}
	}
}

// TestCommentIsUndone: Uncomment reverses Comment if that is possible.
func TestCommentIsUndone(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "#", "# ", "##", "%", "%%", "%x", "!ls",
		"? a", "a?", "cd", "ls -l", " ", "\t",
		"\\", "x = ", `"""`, "'''", "'", "+", "- ", "//", "//gonb:", ":dep", "noescape"})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part,
			0, 4).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		lang := rapid.SampledFrom([]string{"python", "rust", "go", "r", "bash", "julia"}).Draw(t, "lang")
		q := magics.Quotes{Comment: "#", Triple: lang == "python" || lang == "julia", Single: lang == "r"}
		if lang == "rust" || lang == "go" {
			q = magics.Quotes{Comment: "//"}
		}
		lines := rapid.SliceOfN(line, 1, 6).Draw(t, "lines")
		if lang == "go" && slices.ContainsFunc(lines, gonbMark.MatchString) {
			t.Skip("it is the command that it says")
		}
		got := append([]string(nil), lines...)
		magics.Comment(got, lang, q.Comment, q)
		written := strings.Join(got, "\n")
		magics.Uncomment(got, lang, q.Comment, q, magics.Escaped)
		if strings.Join(got, "\n") != strings.Join(lines, "\n") {
			t.Fatalf("%q is written %q and read %q", lines, written, got)
		}
	})
}
