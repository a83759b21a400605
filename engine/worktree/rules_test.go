package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/rules"
)

// TestIgnoreRules compares with `git check-ignore` on random patterns and paths.
func TestIgnoreRules(t *testing.T) {
	g := gittest.New(t)
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "**", "[ab]", "[!a]", "[a-", `\*`, `\a`, "a*", "*b",
		"[[:alpha:]]", "A", "a ", `a\ `, "!", "#", "***", "a**b"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "parts"),
			rapid.SampledFrom([]string{"", "/"}).Draw(t, "between"))
		return rapid.SampledFrom([]string{"", "", "!", "/", "**/"}).Draw(t, "front") + p +
			rapid.SampledFrom([]string{"", "", "/", "/**", "/*", " "}).Draw(t, "back")
	})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "abb", "A", "c", "*", "a b", "#", "!"})
	fold := false
	for _, fold = range []bool{false, true} {
		g.Git("config", "core.ignoreCase", fmt.Sprint(fold))
		checks := 0
		rapid.Check(t, func(t *rapid.T) {
			if checks++; checks > gittest.Rounds(10) { // each asks the Git program
				return
			}
			top := strings.Join(rapid.SliceOfN(pattern, 1, 4).Draw(t, "top"), "\n")
			under := strings.Join(rapid.SliceOfN(pattern, 0, 3).Draw(t, "under"), "\n")
			exclude := strings.Join(rapid.SliceOfN(pattern, 0, 2).Draw(t, "exclude"), "\n")
			paths := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
				return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "names"), "/")
			}), 20, 20).Draw(t, "paths")
			os.RemoveAll(filepath.Join(g.Dir, "a"))
			os.Remove(filepath.Join(g.Dir, "ab"))
			g.Write(".gitignore", top)
			g.Write("a/.gitignore", under)
			g.Write(".git/info/exclude", exclude)
			ign := &rules.Ignores{Global: []rules.IgnoreFile{rules.ParseIgnore([]byte(exclude))}, Fold: fold}
			root := &rules.Chain{Ignore: rules.ParseIgnore([]byte(top))}
			cmd := exec.Command("git", "check-ignore", "--no-index", "--stdin", "-z")
			cmd.Dir = g.Dir
			cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
			out, _ := cmd.Output() // exit 1 says that none is ignored
			got := map[string]bool{}
			for p := range strings.SplitSeq(string(out), "\x00") {
				got[p] = true
			}
			for _, p := range paths {
				if ours := ignoredPath(ign, root, under, p, g.Dir); ours != got[p] {
					t.Fatalf("%q: ignored %v, Git says %v\n.gitignore:\n%s\na/.gitignore:\n%s\nexclude:\n%s", p, ours,
						got[p], top, under, exclude)
				}
			}
		})
	}
}

// ignoredPath asks folder by folder, as the walk does.
func ignoredPath(ign *rules.Ignores, root *rules.Chain, under, path, dir string) bool {
	parts := strings.Split(path, "/")
	r := root
	for i, name := range parts {
		at := strings.Join(parts[:i+1], "/")
		isDir := i < len(parts)-1 || disk.IsFolder(filepath.Join(dir, at))
		if ign.Ignored(r, at, name, isDir) {
			return true
		}
		next := &rules.Chain{Up: r, Prefix: len(at) + 1}
		if at == "a" {
			next.Ignore = rules.ParseIgnore([]byte(under))
		}
		r = next
	}
	return false
}
