package sandbox

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// surroundings creates what attempts try to change and returns a function that reports what changed.
func (c cell) surroundings() (changed func() []string) {
	c.t.Helper()
	for name, text := range map[string]string{
		"out/victim": "whole", "source/.git/objects/aa/object": "object", "source/.git/config": "[core]",
		"source/.markmill/runs/other/events.jsonl": "{}",
	} {
		c.write(name, text)
	}
	for _, dir := range []string{"out", "out/empty", "work", "source/.git/hooks", "source/.git/refs/heads",
		"cache/markmill/work/other/tree"} {
		c.mkdir(dir)
	}
	must(c.t, os.WriteFile(c.path("foreign"), []byte("foreign"), 0o666))
	must(c.t, os.Chmod(c.path("foreign"), 0o666))
	if os.Getuid() == 0 {
		must(c.t, os.Chown(c.path("foreign"), 12345, 12345))
	}
	before := c.snapshot()
	return func() (out []string) {
		after := c.snapshot()
		for name, text := range before {
			if after[name] != text {
				out = append(out, name)
			}
		}
		for name := range after {
			if _, ok := before[name]; !ok {
				out = append(out, "new: "+name)
			}
		}
		return out
	}
}

// snapshot returns everything except work and what the tests themselves write.
func (c cell) snapshot() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"out", "source", "cache", "foreign"} {
		must(c.t, filepath.Walk(c.path(dir), func(path string, info os.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() {
				all[path] = "not a file"
				return err
			}
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}))
	}
	return all
}

// TestEscapes: no attempt escapes, as any available user. Root and nobody try half each, or all with MARKMILL_ALL set.
func TestEscapes(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		needLandlock(t, 1)
		changed, tried := c.surroundings(), 0
		modes := c.modes()
		maps.DeleteFunc(modes, func(_ string, spec Spec) bool { return !spec.Files })
		for at, name := range slices.Sorted(maps.Keys(attempts)) {
			if !thorough && os.Getuid() == 0 && (c.uid == 0) != (at%2 == 0) {
				continue // the other user tries it
			}
			for _, mode := range some(modes, at) {
				spec := modes[mode]
				if spec.Landlock < later[name] {
					t.Logf("%s: needs Landlock %d: not tested", name, later[name])
					continue
				}
				words, held := c.attempt(spec, name)
				if !held {
					t.Errorf("%s: %s: it got out: %s", mode, name, words)
				}
				tried++
				if what := changed(); len(what) > 0 {
					t.Fatalf("%s: %s: it changed %s", mode, name, strings.Join(what, ", "))
				}
				must(t, os.RemoveAll(c.path("work")))
				c.mkdir("work")
			}
		}
		t.Logf("escapes: %d tried", tried)
	})
}

// TestEscapesWithout: attempts that need no root rights work without the sandbox. Otherwise TestEscapes would prove
// nothing. A third of them, or all with MARKMILL_ALL set.
func TestEscapesWithout(t *testing.T) {
	for at, name := range []string{"create by absolute path", "overwrite", "append", "truncate while opening",
		"dot dot", "through a link", "through a linked folder",
		"hard link in", "hard link out", "move in", "move out", "exchange", "remove", "remove a folder",
		"make a folder", "make a link", "make a pipe",
		"make a socket", "by /proc/self/root", "by /proc/self/cwd", "by a folder's descriptor", "reopen a descriptor",
		"after it left its group",
		"truncate by path", "object of the source", "new object", "config of the source", "hook of the source",
		"ref of the source", "file of another user",
		"another run", "record of a run", "device that needs no right", "loosen its own orders"} {
		if !thorough && at%3 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := newCell(t, os.Getuid())
			c.surroundings()
			if words, held := c.attempt(Spec{Network: NetworkOpen}, name); held {
				t.Errorf("it does not work without the sandbox either: %s", words)
			}
		})
	}
}

// TestReaching: other processes and devices are out of reach.
func TestReaching(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		spec := c.landlocked()
		l, err := net.Listen("unix", "@"+c.dir)
		must(t, err)
		defer l.Close()
		for _, name := range slices.Sorted(maps.Keys(reaching)) {
			if spec.Landlock < later[name] {
				t.Logf("%s: needs Landlock %d: not tested", name, later[name])
				continue
			}
			if _, err := os.Stat(console); name == "device" && (c.uid != 0 || err != nil) {
				t.Logf("%s: %s is not there, or its mode keeps this user out already: not tested", name, console)
				continue
			}
			if words, held := c.attempt(spec, name); !held {
				t.Errorf("%s: it got out: %s", name, words)
			}
			if words, held := c.attempt(Spec{Network: NetworkOpen}, name); held {
				t.Errorf("%s: it does not work without the sandbox either: %s", name, words)
			}
		}
	})
}

// TestUnheld: what docs/security.md lists as not restricted is not.
func TestUnheld(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		spec := c.landlocked()
		c.surroundings()
		for _, name := range slices.Sorted(maps.Keys(unheld)) {
			if words, held := c.attempt(spec, name); held {
				t.Errorf("%s is held (%s): docs/security.md says too little", name, words)
			}
		}
	})
}

// TestRightful: the sandbox does not get in the way.
func TestRightful(t *testing.T) {
	users(t, func(t *testing.T, c cell) {
		spec := c.landlocked()
		for _, name := range slices.Sorted(maps.Keys(rightful)) {
			if name == "stdout" && c.uid != os.Getuid() {
				continue // the pipe is this test's, and its mode keeps others out
			}
			if words, held := c.attempt(spec, name); held {
				t.Errorf("%s: %s", name, words)
			}
		}
	})
}

// TestOlderLandlock: with each earlier version's rights, a file outside cannot be written and one inside can.
func TestOlderLandlock(t *testing.T) {
	newest := needLandlock(t, 1)
	c := newCell(t, os.Getuid())
	c.surroundings()
	for abi := 1; abi <= newest; abi++ {
		spec := c.landlocked()
		spec.Landlock = abi
		if words, held := c.attempt(spec, "overwrite"); !held {
			t.Errorf("Landlock %d: it got out: %s", abi, words)
		}
		if words, held := c.attempt(spec, "links"); held {
			t.Errorf("Landlock %d: %s", abi, words)
		}
		must(t, os.Remove(c.path("work/l")))
	}
}
