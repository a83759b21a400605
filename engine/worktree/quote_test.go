package worktree_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/engine/worktree/quote"
)

func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "path"))
		q := quote.Path(p)
		if q[0] != '"' {
			if q != p || strings.ContainsAny(p, "\n\t\"\\") {
				t.Fatalf("%q is written bare", p)
			}
			return
		}
		if back, ok := quote.Unquote(q); !ok || back != p {
			t.Fatalf("%q became %q", p, back)
		}
	})
}
