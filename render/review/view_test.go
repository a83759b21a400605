package review

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// TestSweepIsOneTable: sixty outputs of a notebook that did not change are one notebook, one row, and one table.
func TestSweepIsOneTable(t *testing.T) {
	source := sourceText("Sweep", "test $seed != 13")
	base, head := files{"sweep.md": source}, files{"sweep.md": source}
	for seed := range 60 {
		nb, err := markdown.Parse("sweep.md", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		m := notebooks.Manifest{Status: "pass", SourcePath: "sweep.md", Inputs: &notebooks.Inputs{},
			Parameters: []notebooks.ManifestParam{{Name: "seed", Given: true, Value: codec.Raw(fmt.Sprint(seed))}}}
		if seed == 13 {
			m.Status = "fail"
			m.Blockers = []notebooks.ManifestBlocker{{Code: "step_failed", Step: "one", Message: "exit 1"}}
		}
		head[fmt.Sprintf("out/%02d.md", seed)] = string(region.Splice(nb.Source, nil, m))
	}
	r := reviewed(t, base, head, nil)
	text := string(r.View().Markdown(65536))
	const want = `<!-- markmill:review -->
## ✗ 1 objection · not judged with main's tests: add --judge

` + "`base (b)` → `head (h)`" + ` · notebooks 60

1. ✗ ` + "`out/13.md`, step `one`: its run failed: step one: exit 1 · `markmill show h:out/13.md`" + `

| notebook | main | branch | output |
| --- | --- | --- | --- |
| sweep.md | – | 59 × passed, 1 × failed | 59 × current · claimed, 1 × failed · claimed |

<details><summary>✗ sweep.md: untouched, with 60 outputs · output failed, current</summary>

| outputs | state | tests | parameters |
| --- | --- | --- | --- |
| 1: out/13.md | failed · claimed | failed | seed=13 |
| 59: out/00.md, out/01.md, out/02.md and 56 more | current · claimed | passed | seed=0, seed=1, seed=2 and 56 more |

</details>

`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestChangedCode: what the first screen says of changed files, and which of them are shown, what judges first.
func TestChangedCode(t *testing.T) {
	long := strings.Repeat("x\n", 400)
	base := files{"lib.py": "one\n", "tests/test_lib.py": "1\n"}
	head := files{"lib.py": "two\n", "tests/test_lib.py": "2\n3\n", "a.py": long, "b.py": "b\n", "c.bin.py": "a\x00b",
		"README.txt": "hello\n"}
	v := reviewed(t, base, head, nil).View()
	if got := strings.Join(v.Facts, " · "); got != "code 4 files · tests 1 file +2 −1 · other: README.txt" {
		t.Error(got)
	}
	var titles []string
	lines := 0
	for _, p := range v.Changed {
		titles = append(titles, p.Title)
		lines += strings.Count(p.Text, "\n")
	}
	if got := strings.Join(titles, "; "); got != "tests/test_lib.py +2 −1 · judges the branch; a.py +400 −0" ||
		lines > codeLines+1 {
		t.Errorf("%s: %d lines", got, lines)
	}
	if len(v.Unshown) != 2 || v.Unshown[0] != "3 more files" || v.Unshown[1] != "git diff b h" {
		t.Error(v.Unshown)
	}
	if v.Sign != "!" || v.Verdict != "6 files changed; no notebook covers them" || len(v.Findings) != 1 ||
		v.Findings[0].Words != "changed, and no notebook covers it, nor b.py, c.bin.py, lib.py, tests/test_lib.py" {
		t.Errorf("%s %s %+v", v.Sign, v.Verdict, v.Findings)
	}
}
