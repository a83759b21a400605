package worktree

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestIgnoreRules compares with `git check-ignore` on random patterns and paths.
func TestIgnoreRules(t *testing.T) {
	g := newOracle(t)
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "**", "[ab]", "[!a]", "[a-", `\*`, `\a`, "a*", "*b", "[[:alpha:]]", "A", "a ", `a\ `, "!", "#", "***", "a**b"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "parts"), rapid.SampledFrom([]string{"", "/"}).Draw(t, "between"))
		return rapid.SampledFrom([]string{"", "", "!", "/", "**/"}).Draw(t, "front") + p + rapid.SampledFrom([]string{"", "", "/", "/**", "/*", " "}).Draw(t, "back")
	})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "abb", "A", "c", "*", "a b", "#", "!"})
	fold := false
	for _, fold = range []bool{false, true} {
		g.git("config", "core.ignoreCase", fmt.Sprint(fold))
		checks := 0
		rapid.Check(t, func(t *rapid.T) {
			if checks++; checks > 60 { // each asks the Git program
				return
			}
			top := strings.Join(rapid.SliceOfN(pattern, 1, 4).Draw(t, "top"), "\n")
			under := strings.Join(rapid.SliceOfN(pattern, 0, 3).Draw(t, "under"), "\n")
			exclude := strings.Join(rapid.SliceOfN(pattern, 0, 2).Draw(t, "exclude"), "\n")
			paths := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
				return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "names"), "/")
			}), 20, 20).Draw(t, "paths")
			os.RemoveAll(filepath.Join(g.dir, "a"))
			os.Remove(filepath.Join(g.dir, "ab"))
			g.write(".gitignore", top)
			g.write("a/.gitignore", under)
			g.write(".git/info/exclude", exclude)
			ign := &ignores{global: []ignoreFile{parseIgnore([]byte(exclude))}, fold: fold}
			root := &rules{ignore: parseIgnore([]byte(top))}
			cmd := exec.Command("git", "check-ignore", "--no-index", "--stdin", "-z")
			cmd.Dir = g.dir
			cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
			out, _ := cmd.Output() // exit 1 says that none is ignored
			got := map[string]bool{}
			for p := range strings.SplitSeq(string(out), "\x00") {
				got[p] = true
			}
			for _, p := range paths {
				if ours := ignoredPath(ign, root, under, p, g.dir); ours != got[p] {
					t.Fatalf("%q: ignored %v, Git says %v\n.gitignore:\n%s\na/.gitignore:\n%s\nexclude:\n%s", p, ours, got[p], top, under, exclude)
				}
			}
		})
	}
}

// ignoredPath asks folder by folder, as the walk does.
func ignoredPath(ign *ignores, root *rules, under, path, dir string) bool {
	parts := strings.Split(path, "/")
	r := root
	for i, name := range parts {
		at := strings.Join(parts[:i+1], "/")
		isDir := i < len(parts)-1 || isFolder(filepath.Join(dir, at))
		if ign.ignored(r, at, name, isDir) {
			return true
		}
		next := &rules{up: r, prefix: len(at) + 1}
		if at == "a" {
			next.ignore = parseIgnore([]byte(under))
		}
		r = next
	}
	return false
}

func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "path"))
		q := quote(p)
		if q[0] != '"' {
			if q != p || strings.ContainsAny(p, "\n\t\"\\") {
				t.Fatalf("%q is written bare", p)
			}
			return
		}
		if back, ok := unquote(q); !ok || back != p {
			t.Fatalf("%q became %q", p, back)
		}
	})
}

// TestLineDiff: any two texts give a patch that leads from one to the other, and back to the same lines kept.
func TestLineDiff(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d"})
	text := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.Draw(t, "old"), text.Draw(t, "new")
		d := delta{path: "p", old: entry{mode: 0o100644, oid: digest{1}}, new: entry{mode: 0o100644, oid: digest{2}}}
		var out bytes.Buffer
		d.write(&out, formatSHA1, old, new)
		if err := d.verify(out.Bytes(), old, new); err != nil {
			t.Fatalf("%v\n%q\n%q\n%s", err, old, new, out.Bytes())
		}
		bin := bytes.NewBuffer(nil)
		d.head(bin, formatSHA1)
		writeBinary(bin, old, new)
		if err := d.verify(bin.Bytes(), old, new); err != nil {
			t.Fatal(err)
		}
	})
}

// TestVerify: a patch that does not give the content is told.
func TestVerify(t *testing.T) {
	d := delta{path: "p", old: entry{mode: 0o100644, oid: digest{1}}, new: entry{mode: 0o100644, oid: digest{2}}}
	var out bytes.Buffer
	d.write(&out, formatSHA1, []byte("a\nb\n"), []byte("a\nc\n"))
	for _, wrong := range [][]byte{
		bytes.Replace(out.Bytes(), []byte("+c"), []byte("+d"), 1),
		bytes.Replace(out.Bytes(), []byte(" a"), []byte(" x"), 1),
		bytes.Replace(out.Bytes(), []byte("b/p"), []byte("b/q"), 1),
		bytes.Replace(out.Bytes(), []byte("-1,2"), []byte("-1,3"), 1),
	} {
		if d.verify(wrong, []byte("a\nb\n"), []byte("a\nc\n")) == nil {
			t.Errorf("taken for right:\n%s", wrong)
		}
	}
}

// TestLargeText: large files that differ much are compared in the time of reading them a few times.
func TestLargeText(t *testing.T) {
	var a, b, c bytes.Buffer
	for i := range 400_000 {
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
				d := delta{path: "p", old: entry{mode: 0o100644, oid: digest{1}}, new: entry{mode: 0o100644, oid: digest{2}}}
				var out bytes.Buffer
				added, deleted := d.write(&out, formatSHA1, pair[0], pair[1])
				if err := d.verify(out.Bytes(), pair[0], pair[1]); err != nil {
					t.Error(err)
				}
				done <- [2]int{added, deleted}
			}()
			select {
			case n := <-done:
				if name == "every seventh line" && n != [2]int{57143, 57143} {
					t.Errorf("%d lines", n)
				}
			case <-time.After(time.Minute): // takes under a second; without its bounds, hours
				t.Fatal("not linear")
			}
		})
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git \"a/\\t\" \"b/\\t\"\nnew file mode 100644\nGIT binary patch\nliteral 1\nIcmZQz00IC5\n\nliteral 0\nHcmV?d00001\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := parsePatch(data)
		if err != nil {
			return
		}
		for _, p := range parts {
			p.apply([]byte("a\nb\n")) // must not panic
			if p.oldPath == "" && p.newPath == "" {
				t.Error("a change of no path")
			}
		}
	})
}
