//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// home makes a folder with the files and folders (names that end in /) of a list.
func home(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if name[len(name)-1] == '/' {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func same(t *testing.T, got []string, dir string, want ...string) {
	t.Helper()
	var full []string
	for _, w := range want {
		full = append(full, filepath.Join(dir, filepath.FromSlash(w)))
	}
	got = slices.Sorted(slices.Values(got))
	slices.Sort(full)
	if !slices.Equal(got, full) {
		t.Errorf("got  %q\nwant %q", got, full)
	}
}

func TestExcept(t *testing.T) {
	dir := home(t, "a/x", "b/c/d/", "b/e", "bb/", "f")
	if err := os.Symlink("b/c", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	same(t, Except(dir, nil), dir, ".")
	same(t, Except(dir, []string{filepath.Join(dir, "b/c")}), dir, "a", "b/e", "bb", "f")
	same(t, Except(dir, []string{dir}), dir)
	same(t, Except(filepath.Join(dir, "b/c/d"), []string{filepath.Join(dir, "b")}), dir)
	same(t, Except(filepath.Join(dir, "bb"), []string{filepath.Join(dir, "b")}), dir, "bb")
}

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// TestCaches: the table by the environment and by default, what stands in XDG_CACHE_HOME, and never
// what is kept.
func TestCaches(t *testing.T) {
	dir := home(t, "bin/go", "bin/npm", ".cache/markmill/work/other/", ".cache/own-tool/", ".cache/index.db", "mods/")
	kept := []string{filepath.Join(dir, ".cache/markmill")}
	env := environment("HOME", dir, "PATH", filepath.Join(dir, "bin"))
	same(t, Caches(env, kept), dir, ".cache/go-build", ".cache/own-tool", ".cache/index.db", ".cache/node-gyp", ".npm", "go/pkg")
	if _, err := os.Stat(filepath.Join(dir, ".cargo")); err == nil {
		t.Error("a cache was made for a tool that is not there")
	}

	dir = home(t, "bin/go", "bin/python3", "mods/", "x/one/", "g/pkg/")
	env = environment("HOME", dir, "PATH", filepath.Join(dir, "bin"), "GOMODCACHE", filepath.Join(dir, "mods"), "GOPATH", filepath.Join(dir, "g")+":"+filepath.Join(dir, "h"),
		"XDG_CACHE_HOME", filepath.Join(dir, "x"), "GOCACHE", "off", "PIP_CACHE_DIR", "relative")
	same(t, Caches(env, nil), dir, "mods", "g/pkg", "x/one", "x/matplotlib")

	if got := Caches(environment("PATH", filepath.Join(dir, "bin")), nil); len(got) != 0 {
		t.Errorf("without a home: %q", got)
	}
}

// TestCachesAroundWhatIsKept: a variable that names the home, or what is kept, grants neither.
func TestCachesAroundWhatIsKept(t *testing.T) {
	dir := home(t, "repo/.git/", "repo/file", "other/")
	kept := []string{filepath.Join(dir, "repo")}
	same(t, Caches(environment("HOME", "/nowhere", "PIP_CACHE_DIR", dir), kept), dir, "other")
	same(t, Caches(environment("HOME", "/nowhere", "PIP_CACHE_DIR", filepath.Join(dir, "repo/.git")), kept), dir)
}

// TestPlantedLinks: a step of an earlier run, which could write the caches, is not granted more
// through a link that it left there.
func TestPlantedLinks(t *testing.T) {
	dir := home(t, "bin/go", "go/pkg/", "secret/", ".cache/")
	env := environment("HOME", dir, "PATH", filepath.Join(dir, "bin"), "GOMODCACHE", filepath.Join(dir, "go/pkg/mod"), "GOCACHE", filepath.Join(dir, "go/pkg/build/deep"))
	for _, name := range []string{"mod", "build"} {
		if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "go/pkg", name)); err != nil {
			t.Fatal(err)
		}
	}
	same(t, Caches(env, nil), dir, "go/pkg")
	if entries, err := os.ReadDir(filepath.Join(dir, "secret")); err != nil || len(entries) > 0 {
		t.Errorf("the link was followed to make %v (%v)", entries, err)
	}

	// The user's own link, in a place that steps cannot write, is followed.
	dir = home(t, "bin/go", "disk/build/", ".cache/")
	if err := os.Symlink("../disk/build", filepath.Join(dir, ".cache/go-build")); err != nil {
		t.Fatal(err)
	}
	same(t, Caches(environment("HOME", dir, "PATH", filepath.Join(dir, "bin"), "GOPATH", "relative"), nil), dir, "disk/build")
}

func TestGranted(t *testing.T) {
	dir := home(t, "a/", "b/kept/", "b/open/")
	same(t, Granted(environment("HOME", dir), []string{"~/a", filepath.Join(dir, "b"), "~/missing", "relative"}, []string{filepath.Join(dir, "b/kept")}), dir, "a", "b/open")
}
