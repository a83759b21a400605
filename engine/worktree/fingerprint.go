package worktree

import (
	"bytes"
	"context"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/notebooks/linediff"
)

// Fingerprint proves that a checkout and its Git directory were not touched between two moments of
// one process: the stats of every file of the checkout, ignored ones too, and the content of HEAD, refs,
// settings, hooks and index.
type Fingerprint struct {
	files *node
	git   map[string]uint64 // by name within the Git directory
}

// printSeed makes the hashes of a fingerprint unpredictable to whoever would forge one.
var printSeed = maphash.MakeSeed()

// Fingerprint reads the state of the checkout and of its Git directory, at the cost of one walk. Paths
// that exclude takes, `.markmill/` and refs/markmill are left out.
func (s *Source) Fingerprint(ctx context.Context, exclude func(path string) bool) (Fingerprint, error) {
	w := newWalk(false)
	w.plain = true
	w.exclude = func(path string) bool { return path == ".markmill" || exclude != nil && exclude(path) }
	f, err := openRoot(s.root)
	if err != nil {
		return Fingerprint{}, err
	}
	defer f.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.print == nil {
		s.print = &node{}
	}
	if err := w.folder(s.print, f, "", nil, false); err != nil {
		s.print = nil
		return Fingerprint{}, err
	}
	p := Fingerprint{files: s.print.clone(), git: map[string]uint64{}}
	if err := ctx.Err(); err != nil {
		return Fingerprint{}, err
	}
	return p, s.printGit(p.git)
}

func (s *Source) printGit(out map[string]uint64) error {
	add := func(dir, name string, strip func([]byte) []byte) error {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			if gone(err) {
				return nil
			}
			return err
		}
		if strip != nil {
			data = strip(data)
		}
		out[filepath.ToSlash(name)] = maphash.Bytes(printSeed, data)
		return nil
	}
	for _, name := range []string{"HEAD", "index", "config.worktree", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"} {
		if err := add(s.gitDir, name, nil); err != nil {
			return err
		}
	}
	for _, name := range []string{"config", "info/exclude", "info/attributes", "info/grafts", "shallow", "objects/info/alternates"} {
		if err := add(s.common, filepath.FromSlash(name), nil); err != nil {
			return err
		}
	}
	if err := add(s.common, "packed-refs", withoutRuns); err != nil {
		return err
	}
	for _, dir := range []string{"refs", "hooks"} {
		err := filepath.WalkDir(filepath.Join(s.common, dir), func(path string, d os.DirEntry, err error) error {
			if gone(err) {
				return nil
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(s.common, path)
			if err != nil {
				return err
			}
			if d.IsDir() {
				if filepath.ToSlash(rel) == "refs/markmill" {
					return filepath.SkipDir
				}
				return nil
			}
			if dir == "refs" && strings.HasSuffix(path, ".lock") {
				return nil // no ref: somebody is about to write one
			}
			if fi, err := d.Info(); err == nil && dir == "hooks" {
				out[filepath.ToSlash(rel)+" mode"] = uint64(fi.Mode())
			}
			return add(s.common, rel, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutRuns drops the runs' own refs from packed-refs.
func withoutRuns(data []byte) []byte {
	var out []byte
	drop := false
	for _, line := range linediff.Split(data) {
		if len(line) > 0 && line[0] != '^' {
			drop = bytes.Contains(line, []byte(" refs/markmill/"))
		}
		if !drop {
			out = append(out, line...)
		}
	}
	return out
}

// Equal tells whether nothing changed between the two.
func (f Fingerprint) Equal(o Fingerprint) bool { return len(f.diff(o, 1)) == 0 }

// Diff lists what differs, as slash-separated paths; of the Git directory as ".git/…".
func (f Fingerprint) Diff(o Fingerprint) []string { return f.diff(o, 0) }

// diff stops after limit paths; 0 is no limit.
func (f Fingerprint) diff(o Fingerprint, limit int) []string {
	var out []string
	for name, v := range f.git {
		if w, ok := o.git[name]; !ok || v != w {
			out = append(out, ".git/"+strings.TrimSuffix(name, " mode"))
		}
	}
	for name := range o.git {
		if _, ok := f.git[name]; !ok {
			out = append(out, ".git/"+strings.TrimSuffix(name, " mode"))
		}
	}
	none := &node{}
	a, b := f.files, o.files
	if a == nil {
		a = none
	}
	if b == nil {
		b = none
	}
	out = diffNodes(a, b, "", out, limit)
	slices.Sort(out)
	return slices.Compact(out)
}

// diffNodes compares the files below two folders. A folder's own times are not compared: they
// change when the engine makes .markmill in it. Its mode is.
func diffNodes(a, b *node, path string, out []string, limit int) []string {
	if limit > 0 && len(out) >= limit {
		return out
	}
	if a.st.mode != b.st.mode && len(a.name)+len(b.name) > 0 {
		out = append(out, strings.TrimSuffix(path, "/"))
	}
	i, j := 0, 0
	for i < len(a.files) || j < len(b.files) {
		switch {
		case j == len(b.files) || i < len(a.files) && a.files[i].name < b.files[j].name:
			out = append(out, path+a.files[i].name)
			i++
		case i == len(a.files) || a.files[i].name > b.files[j].name:
			out = append(out, path+b.files[j].name)
			j++
		default:
			if a.files[i].st != b.files[j].st {
				out = append(out, path+a.files[i].name)
			}
			i, j = i+1, j+1
		}
	}
	i, j = 0, 0
	for i < len(a.dirs) || j < len(b.dirs) {
		switch {
		case j == len(b.dirs) || i < len(a.dirs) && a.dirs[i].name < b.dirs[j].name:
			out = diffNodes(a.dirs[i], &node{}, path+a.dirs[i].name+"/", out, limit)
			i++
		case i == len(a.dirs) || a.dirs[i].name > b.dirs[j].name:
			out = diffNodes(&node{}, b.dirs[j], path+b.dirs[j].name+"/", out, limit)
			j++
		default:
			out = diffNodes(a.dirs[i], b.dirs[j], path+a.dirs[i].name+"/", out, limit)
			i, j = i+1, j+1
		}
	}
	return out
}
