package terminal

import (
	"strings"
	"testing"

	"markmill/render/review"
)

// TestReview: the first screen of a review as text, with what it must not show as it is.
func TestReview(t *testing.T) {
	v := &review.View{Sign: "✗", Verdict: "1 objection", Base: "main (1)", Head: "fix\x1b[31m (2)",
		Facts: []string{"code 1 file +1 −0"},
		Findings: []review.Line{{Sign: "✗", Path: "a.out.md", Others: 2, Step: "t", Words: "turned red",
			Command: "show a"}},
		More:      []review.Line{{Sign: "!", Path: "b.md", Words: "told", Command: "show b", ID: "0123456789ab"}},
		MoreWords: "1 told", Table: [][]string{{"notebook", "main"}, {"a.md", "4 passed"}}, Notes: []string{"judged"},
		Changed: []review.Patch{{Title: "a.py +1 −0", Text: "@@ -0,0 +1 @@\n+x\x07\n\n"}},
		Unshown: []string{"1 more file", "git diff 1 2"},
		Folds: []review.Fold{{Sign: "✗", Notebook: &review.Notebook{Path: "a.md", Change: review.Untouched},
			Table: [][]string{{"outputs", "state"}, {"2: x, y", "current"}}}}}
	var b strings.Builder
	if err := Review(&b, v, false); err != nil {
		t.Fatal(err)
	}
	const want = `✗ 1 objection
main (1) → fix\x1b[31m (2) · code 1 file +1 −0

1. ✗ a.out.md and 2 others, step t: turned red · show a
and 1 more: 1 told

notebook  main
a.md      4 passed
judged

1 more finding: 1 told
  ! b.md: told · show b · 0123456789ab

a.py +1 −0
  @@ -0,0 +1 @@
  + x\x07

1 more file: git diff 1 2

✗ a.md: untouched
  outputs  state
  2: x, y  current
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
