package patch

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/engine/worktree/object"
)

// TestLineDiff: any two texts give a patch that leads from one to the other, and back to the same lines kept.
func TestLineDiff(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d"})
	text := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.Draw(t, "old"), text.Draw(t, "new")
		d := Delta{Path: "p", Old: Side{Mode: 0o100644, OID: object.Digest{1}},
			New: Side{Mode: 0o100644, OID: object.Digest{2}}}
		var out bytes.Buffer
		d.Write(&out, object.SHA1, old, new)
		if err := d.Verify(out.Bytes(), old, new); err != nil {
			t.Fatalf("%v\n%q\n%q\n%s", err, old, new, out.Bytes())
		}
		bin := bytes.NewBuffer(nil)
		d.Head(bin, object.SHA1)
		writeBinary(bin, old, new)
		if err := d.Verify(bin.Bytes(), old, new); err != nil {
			t.Fatal(err)
		}
	})
}

// TestVerify: a patch that does not give the content is told.
func TestVerify(t *testing.T) {
	d := Delta{Path: "p", Old: Side{Mode: 0o100644, OID: object.Digest{1}},
		New: Side{Mode: 0o100644, OID: object.Digest{2}}}
	var out bytes.Buffer
	d.Write(&out, object.SHA1, []byte("a\nb\n"), []byte("a\nc\n"))
	for _, wrong := range [][]byte{
		bytes.Replace(out.Bytes(), []byte("+c"), []byte("+d"), 1),
		bytes.Replace(out.Bytes(), []byte(" a"), []byte(" x"), 1),
		bytes.Replace(out.Bytes(), []byte("b/p"), []byte("b/q"), 1),
		bytes.Replace(out.Bytes(), []byte("-1,2"), []byte("-1,3"), 1),
	} {
		if d.Verify(wrong, []byte("a\nb\n"), []byte("a\nc\n")) == nil {
			t.Errorf("taken for right:\n%s", wrong)
		}
	}
}

// TestLargeText: large files that differ much are compared in the time of reading them a few times.
func TestLargeText(t *testing.T) {
	var a, b, c bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&a, "line %d\n", i)
		if i%7 != 0 {
			fmt.Fprintf(&b, "line %d\n", i)
		} else {
			fmt.Fprintf(&b, "other %d\n", i)
		}
		fmt.Fprintf(&c, "%d\n", i%10)
	}
	for name, pair := range map[string][2][]byte{
		"every seventh line":  {a.Bytes(), b.Bytes()},
		"nothing in common":   {a.Bytes(), bytes.ReplaceAll(a.Bytes(), []byte("line"), []byte("row"))},
		"nothing once":        {c.Bytes(), bytes.ReplaceAll(c.Bytes(), []byte("3\n4\n"), []byte("4\n3\n"))},
		"reversed beginnings": {append([]byte("x\n"), a.Bytes()...), append(a.Bytes(), "x\n"...)},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan [2]int, 1)
			go func() {
				d := Delta{Path: "p", Old: Side{Mode: 0o100644, OID: object.Digest{1}},
					New: Side{Mode: 0o100644, OID: object.Digest{2}}}
				var out bytes.Buffer
				added, deleted := d.Write(&out, object.SHA1, pair[0], pair[1])
				if err := d.Verify(out.Bytes(), pair[0], pair[1]); err != nil {
					t.Error(err)
				}
				done <- [2]int{added, deleted}
			}()
			select {
			case n := <-done:
				if name == "every seventh line" && n != [2]int{28572, 28572} {
					t.Errorf("%d lines", n)
				}
			case <-time.After(time.Minute): // takes under a second; without its bounds, hours
				t.Fatal("not linear")
			}
		})
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n" +
		"\\ No newline at end of file\n"))
	f.Add([]byte("diff --git \"a/\\t\" \"b/\\t\"\nnew file mode 100644\nGIT binary patch\nliteral " +
		"1\nIcmZQz00IC5\n\nliteral 0\nHcmV?d00001\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := Parse(data)
		if err != nil {
			return
		}
		for _, p := range parts {
			p.Apply([]byte("a\nb\n")) // must not panic
			if p.OldPath == "" && p.NewPath == "" {
				t.Error("a change of no path")
			}
		}
	})
}
