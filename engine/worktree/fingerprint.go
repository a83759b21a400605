package worktree

import (
	"bytes"
	"context"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks/linediff"
)

// Fingerprint shows whether a checkout and its Git directory were touched between two moments of one process. It holds
// the stats of every file of the checkout, including ignored ones, and hashes of HEAD, refs, settings, hooks and index.
type Fingerprint struct {
	files *snapshot.Node
	git   map[string]uint64 // by name within the Git directory
}

// printSeed makes the hashes of a fingerprint unpredictable, so that they cannot be forged.
var printSeed = maphash.MakeSeed()

// Fingerprint reads the state of the checkout and of its Git directory, at the cost of one walk. Paths
// that exclude takes, `.markmill/` and refs/markmill are left out.
func (s *Source) Fingerprint(ctx context.Context, exclude func(path string) bool) (Fingerprint, error) {
	w := snapshot.New(false)
	w.Plain = true
	w.Exclude = func(path string) bool { return path == ".markmill" || exclude != nil && exclude(path) }
	f, err := disk.Open(s.Root())
	if err != nil {
		return Fingerprint{}, err
	}
	defer f.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.print == nil {
		s.print = &snapshot.Node{}
	}
	if err := w.Folder(s.print, f, "", nil, false); err != nil {
		s.print = nil
		return Fingerprint{}, err
	}
	p := Fingerprint{files: s.print.Clone(), git: map[string]uint64{}}
	if err := ctx.Err(); err != nil {
		return Fingerprint{}, err
	}
	return p, s.printGit(p.git)
}

func (s *Source) printGit(out map[string]uint64) error {
	add := func(dir, name string, strip func([]byte) []byte) error {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			if disk.Gone(err) {
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
		if err := add(s.GitDir(), name, nil); err != nil {
			return err
		}
	}
	for _, name := range []string{"config", "info/exclude", "info/attributes", "info/grafts", "shallow",
		"objects/info/alternates"} {
		if err := add(s.CommonDir(), filepath.FromSlash(name), nil); err != nil {
			return err
		}
	}
	if err := add(s.CommonDir(), "packed-refs", withoutRuns); err != nil {
		return err
	}
	for _, dir := range []string{"refs", "hooks"} {
		err := filepath.WalkDir(filepath.Join(s.CommonDir(), dir), func(path string, d os.DirEntry, err error) error {
			if disk.Gone(err) {
				return nil
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(s.CommonDir(), path)
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
			return add(s.CommonDir(), rel, nil)
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

// Equal reports whether nothing changed between the two.
func (f Fingerprint) Equal(o Fingerprint) bool { return len(f.diff(o, 1)) == 0 }

// Diff lists the paths that differ, slash-separated; those of the Git directory as ".git/…".
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
	none := &snapshot.Node{}
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

// diffNodes compares the files below two folders. It compares a folder's mode but not its times: they change when the
// engine creates .markmill in it.
func diffNodes(a, b *snapshot.Node, path string, out []string, limit int) []string {
	if limit > 0 && len(out) >= limit {
		return out
	}
	if a.Stat.Mode != b.Stat.Mode && len(a.Name)+len(b.Name) > 0 {
		out = append(out, strings.TrimSuffix(path, "/"))
	}
	i, j := 0, 0
	for i < len(a.Files) || j < len(b.Files) {
		switch {
		case j == len(b.Files) || i < len(a.Files) && a.Files[i].Name < b.Files[j].Name:
			out = append(out, path+a.Files[i].Name)
			i++
		case i == len(a.Files) || a.Files[i].Name > b.Files[j].Name:
			out = append(out, path+b.Files[j].Name)
			j++
		default:
			if a.Files[i].Stat != b.Files[j].Stat {
				out = append(out, path+a.Files[i].Name)
			}
			i, j = i+1, j+1
		}
	}
	i, j = 0, 0
	for i < len(a.Dirs) || j < len(b.Dirs) {
		switch {
		case j == len(b.Dirs) || i < len(a.Dirs) && a.Dirs[i].Name < b.Dirs[j].Name:
			out = diffNodes(a.Dirs[i], &snapshot.Node{}, path+a.Dirs[i].Name+"/", out, limit)
			i++
		case i == len(a.Dirs) || a.Dirs[i].Name > b.Dirs[j].Name:
			out = diffNodes(&snapshot.Node{}, b.Dirs[j], path+b.Dirs[j].Name+"/", out, limit)
			j++
		default:
			out = diffNodes(a.Dirs[i], b.Dirs[j], path+a.Dirs[i].Name+"/", out, limit)
			i, j = i+1, j+1
		}
	}
	return out
}
