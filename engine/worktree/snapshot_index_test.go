package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/gittest"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/snapshot"
)

// TestReadIndex reads the index that the Git program writes, in each of its versions.
func TestReadIndex(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "one\n")
	g.Write("dir/b", "two\n")
	g.Write("dir/c", "three\n")
	g.Commit("base")
	g.Write("dir/later", "x\n")
	g.Git("add", "--intent-to-add", "dir/later") // needs version 3
	for _, version := range []string{"3", "4"} {
		g.Git("update-index", "--force-write-index", "--index-version", version)
		path := filepath.Join(g.Dir, ".git", "index")
		past := mustStat(t, filepath.Join(g.Dir, "a")).ModTime().Add(3e9)
		gittest.Must(t, os.Chtimes(path, past, past)) // later than the files: none is racy
		list, err := snapshot.ReadIndex(path, object.SHA1)
		gittest.Must(t, err)
		if len(list) != 4 {
			t.Errorf("version %s: %v", version, list)
		}
		for name, unchanged := range map[string]bool{"a": true, "dir/b": true, "dir/c": true, "dir/later": false} {
			st, err := disk.StatAt(g.Dir, name)
			gittest.Must(t, err)
			if list[name].Same(st) != unchanged {
				t.Errorf("version %s: %s is unchanged: %v", version, name, !unchanged)
			}
		}
		st, err := disk.StatAt(g.Dir, "a")
		gittest.Must(t, err)
		if st.Size++; list["a"].Same(st) {
			t.Errorf("version %s: another size is not noticed", version)
		}
	}
	g.Git("update-index", "--split-index")
	if _, err := snapshot.ReadIndex(filepath.Join(g.Dir, ".git", "index"), object.SHA1); err == nil {
		t.Error("a split index was read")
	}
	if list, err := snapshot.ReadIndex(filepath.Join(g.Dir, "none"), object.SHA1); len(list) > 0 || err != nil {
		t.Errorf("a missing index: %v %v", list, err)
	}
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	gittest.Must(t, err)
	return info
}

// FuzzReadIndex: a step can write the index of its worktree, which must not bring the engine down.
func FuzzReadIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"))
	path := filepath.Join(f.TempDir(), "index")
	f.Fuzz(func(t *testing.T, data []byte) {
		gittest.Must(t, os.WriteFile(path, data, 0o600))
		for _, format := range []*object.Format{object.SHA1, object.SHA256} {
			if list, err := snapshot.ReadIndex(path, format); err == nil {
				for _, e := range list {
					e.Same(disk.Stat{})
				}
			}
			if x, err := snapshot.OpenIndex(path, format); err == nil {
				root := &snapshot.Node{Files: []snapshot.Entry{{Name: "a"}, {Name: "b"}}}
				x.Holds(root)
				x.Times(root)
			}
		}
	})
}
