package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitDigest digests every file of a Git directory, and names its folders.
func gitDigest(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			all[rel] += fmt.Sprintf(" %x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameGit wants a Git directory to be as it was, to the byte.
func sameGit(t *testing.T, what string, was, is map[string]string) {
	t.Helper()
	var out []string
	for path := range maps.Keys(is) {
		if was[path] != is[path] {
			out = append(out, path)
		}
	}
	for path := range was {
		if _, there := is[path]; !there {
			out = append(out, path+" (gone)")
		}
	}
	if slices.Sort(out); len(out) > 0 {
		t.Errorf("%s wrote into .git: %s", what, strings.Join(out, ", "))
	}
}

// TestGitUntouched digests .git before and after every command that works on runs: a run, one that fails, one with the
// uncommitted changes, in place, listing, verifying, applying, pruning, reconciling. TestKills does so for runs that
// are killed, and TestResumeAnywhere for those that are resumed.
func TestGitUntouched(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	r := b.trial(t)
	dot := filepath.Join(r.repo, ".git")
	was := gitDigest(t, dot)
	write(t, filepath.Join(r.repo, "fails.md"),
		"```bash {#change}\necho x > x; git add x; git -c user.name=A -c user.email=a@b commit -qm own; git tag t; "+
			"exit 3\n```\n")
	write(t, filepath.Join(r.repo, "edits.md"), "```bash {#change}\necho y > y\n```\n")
	for _, c := range []struct {
		exit int
		args []string
	}{
		{0, r.args()}, {1, []string{"run", "fails.md"}}, {0, []string{"run", "task.md", "--dirty", "include"}},
		{0, []string{"runs", "list"}}, {0, []string{"runs", "show", "last"}},
		{0, []string{"runs", "verify", "last"}}, {0, []string{"runs", "log", "last"}},
		{0, []string{"runs", "attest", "last"}}, {0, []string{"runs", "reconcile"}},
		{2, []string{"run", "--resume", "last"}}, {0, []string{"runs", "apply", "last"}},
		{0, []string{"run", "edits.md", "--in-place"}}, {0, []string{"runs", "prune", "--keep", "0", "--days", "0"}},
		{0, []string{"runs", "reconcile"}},
	} {
		if text, code := r.markmill(c.args...); code != c.exit {
			t.Errorf("%q exits %d, want %d: %s", c.args, code, c.exit, text)
		}
		sameGit(t, strings.Join(c.args, " "), was, gitDigest(t, dot))
	}
	if left, _ := os.ReadDir(filepath.Join(r.repo, ".markmill", "runs")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOldRecord: a run of a version that put its commits into the repository still verifies, there with its commits;
// reconcile offers to remove its ref, removes it when it is told to, and the record then holds without.
func TestOldRecord(t *testing.T) {
	b := newCrashBed(t)
	r := b.trial(t)
	r.repo = filepath.Join(r.dir, "old")
	command(t, "", "git", "-c", "init.defaultBranch=main", "init", "-q", r.repo)
	old, err := filepath.Abs(filepath.Join("testdata", "oldrecord"))
	if err != nil {
		t.Fatal(err)
	}
	r.git("fetch", "-q", filepath.Join(old, "repo.bundle"), "refs/heads/main:refs/heads/kept",
		"refs/markmill/*:refs/markmill/*")
	r.git("checkout", "-q", "kept")
	found, err := filepath.Glob(filepath.Join(old, "2026*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	id := filepath.Base(found[0])
	if err := os.CopyFS(filepath.Join(r.repo, ".markmill", "runs", id), os.DirFS(found[0])); err != nil {
		t.Fatal(err)
	}
	expect := func(words string, args ...string) {
		t.Helper()
		if text, code := r.markmill(args...); code != 0 || !strings.Contains(text, words) {
			t.Errorf("%q exits %d without %q: %s", args, code, words, text)
		}
	}
	expect("what was looked at holds (11 events, 3 commits)", "runs", "verify", id)
	expect("refs/markmill/runs/"+id, "runs", "fetch", id)
	was := gitDigest(t, filepath.Join(r.repo, ".git"))
	expect(
		"the repository has 1 ref below refs/markmill/runs, from earlier versions or runs fetch; the commits of 1 "+
			"are in no record", "runs", "reconcile")
	sameGit(t, "runs reconcile", was, gitDigest(t, filepath.Join(r.repo, ".git")))
	expect("removed 1 ref", "runs", "reconcile", "--remove-refs")
	if left := r.git("for-each-ref", "refs/markmill"); left != "" {
		t.Error(left)
	}
	expect("what was looked at holds (11 events; its commits are looked at in", "runs", "verify", id)
	expect("applied the change", "runs", "apply", id)
}
