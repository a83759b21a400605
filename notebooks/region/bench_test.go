package region

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
)

// manyFences returns a source of 10 MB a multiple: 38,000 fences each, with a step in every one.
func manyFences(multiple int) []byte {
	var b bytes.Buffer
	code := strings.Repeat("result=$(compute --with \"$input\")\n", 5)
	for i := range 38_000 * multiple {
		fmt.Fprintf(&b, "Some *words* about step %d, with `code` in them.\n\n"+
			"```bash {#s%d .test timeout=30s}\n%s```\n\n", i,
			i, code)
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, multiple := range []int{1, 2} {
		src := manyFences(multiple)
		b.Run(fmt.Sprintf("goldmark/%dMB", 10*multiple), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				goldmark.DefaultParser().Parse(text.NewReader(src))
			}
		})
		b.Run(fmt.Sprintf("markmill/%dMB", 10*multiple), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				nb, err := markdown.Parse("big.md", src)
				if err != nil || len(nb.Steps) != 38_000*multiple {
					b.Fatal(len(nb.Steps), err)
				}
			}
		})
	}
}

func BenchmarkStrip(b *testing.B) {
	src := manyFences(1)
	nb, err := markdown.Parse("big.md", src)
	if err != nil {
		b.Fatal(err)
	}
	var regions []Region
	for _, s := range nb.Steps {
		regions = append(regions, Region{ID: string(s.ID), At: s.Fence.End,
			Body: []byte("```text {.output}\nhello\n```\n")})
	}
	b.Run("splice", func(b *testing.B) {
		for b.Loop() {
			Splice(src, regions, notebooks.Manifest{Status: "pass"})
		}
	})
	out := Splice(src, regions, notebooks.Manifest{Status: "pass"})
	b.Run("strip", func(b *testing.B) {
		b.SetBytes(int64(len(out)))
		for b.Loop() {
			if got := Strip("big.md", out); len(got.Problems) > 0 || !bytes.Equal(got.Source, src) {
				b.Fatal(got.Problems[0])
			}
		}
	})
}
