package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/snapshot"
	"markmill/notebooks/linediff"
)

// Fingerprint shows whether a checkout and its Git directory were touched between two moments of one process. It holds
// the stats of every file of the checkout, including ignored ones, and hashes of HEAD, refs, settings, hooks and index.
type Fingerprint struct {
	At    time.Time // when it began to look
	files *snapshot.Node
	git   map[string]uint64 // by name within the Git directory
}

// printSeed makes the hashes of a fingerprint unpredictable, so that they cannot be forged.
var printSeed = maphash.MakeSeed()

// freshLook is the age up to which a fingerprint takes over what Look saw.
const freshLook = 5 * time.Second

// Fingerprint reads the state of the checkout and of its Git directory, at the cost of one walk, or takes over what
// Look has just seen. Paths that exclude takes may be left out, and `.markmill/` and refs/markmill are.
func (s *Source) Fingerprint(ctx context.Context, exclude func(path string) bool) (Fingerprint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen || time.Since(s.at) > freshLook {
		if err := s.walk(exclude); err != nil {
			return Fingerprint{}, err
		}
	}
	s.seen = false
	p := Fingerprint{At: s.at, files: s.print.Clone(), git: map[string]uint64{}}
	if err := ctx.Err(); err != nil {
		return Fingerprint{}, err
	}
	return p, s.printGit(p.git)
}

// walk looks at the checkout; mu is held.
func (s *Source) walk(exclude func(path string) bool) error {
	w := snapshot.New(false)
	w.Plain = true
	w.Exclude = func(path string) bool { return path == ".markmill" || exclude != nil && exclude(path) }
	if s.print == nil {
		s.print = &snapshot.Node{}
	}
	s.at = time.Now()
	err := w.Root(s.print, s.Root(), false)
	if err != nil {
		s.print = nil
	}
	return err
}

func (s *Source) printGit(out map[string]uint64) error {
	add := func(dir string, names ...string) error {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			switch {
			case disk.Gone(err):
				continue
			case err != nil:
				return err
			case name == "packed-refs":
				data = withoutRuns(data)
			}
			out[name] = maphash.Bytes(printSeed, data)
		}
		return nil
	}
	err := errors.Join(
		add(s.GitDir(), "HEAD", "index", "config.worktree", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"),
		add(s.CommonDir(), "config", "info/exclude", "info/attributes", "info/grafts", "shallow",
			"objects/info/alternates", "packed-refs"))
	if err != nil {
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
			name, err := filepath.Rel(s.CommonDir(), path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			switch {
			case name == "refs/markmill":
				return filepath.SkipDir
			case d.IsDir() || dir == "refs" && strings.HasSuffix(path, ".lock"): // no ref, but one about to be written
				return nil
			}
			if fi, err := d.Info(); err == nil && dir == "hooks" {
				out[name+" mode"] = uint64(fi.Mode())
			}
			return add(s.CommonDir(), name)
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
func (f Fingerprint) Equal(o Fingerprint) bool { return len(f.Diff(o)) == 0 }

// Diff lists the paths that differ, slash-separated; those of the Git directory as ".git/…".
func (f Fingerprint) Diff(o Fingerprint) []string {
	var out []string
	for _, sides := range [][2]Fingerprint{{f, o}, {o, f}} {
		for name, v := range sides[0].git {
			if w, ok := sides[1].git[name]; !ok || v != w {
				out = append(out, ".git/"+strings.TrimSuffix(name, " mode"))
			}
		}
	}
	out = diffNodes(cmp.Or(f.files, noFiles), cmp.Or(o.files, noFiles), "", out)
	slices.Sort(out)
	return slices.Compact(out)
}

// Has reports whether the checkout had a file.
func (f Fingerprint) Has(path string) bool { return f.files != nil && f.files.Find(path) != nil }

// noFiles is the other side of a folder that only one fingerprint has.
var noFiles = &snapshot.Node{}

// diffNodes compares the files below two folders. It compares a folder's mode but not its times: they change when the
// engine creates .markmill in it.
func diffNodes(a, b *snapshot.Node, path string, out []string) []string {
	if a.Stat.Mode != b.Stat.Mode && path != "" {
		out = append(out, strings.TrimSuffix(path, "/"))
	}
	for x, y := range pairs(a.Files, b.Files, func(e *snapshot.Entry) string { return e.Name }) {
		if x == nil || y == nil || x.Stat != y.Stat {
			out = append(out, path+cmp.Or(x, y).Name)
		}
	}
	for x, y := range pairs(a.Dirs, b.Dirs, func(d **snapshot.Node) string { return (*d).Name }) {
		switch {
		case x == nil:
			out = diffNodes(noFiles, *y, path+(*y).Name+"/", out)
		case y == nil:
			out = diffNodes(*x, noFiles, path+(*x).Name+"/", out)
		default:
			out = diffNodes(*x, *y, path+(*x).Name+"/", out)
		}
	}
	return out
}

// pairs yields the items of two lists that are sorted by name: those of the same name together, others beside nil.
func pairs[T any](a, b []T, name func(*T) string) iter.Seq2[*T, *T] {
	return func(yield func(x, y *T) bool) {
		for len(a)+len(b) > 0 {
			var x, y *T
			if len(a) > 0 && (len(b) == 0 || name(&a[0]) <= name(&b[0])) {
				x = &a[0]
			}
			if len(b) > 0 && (x == nil || name(&b[0]) == name(x)) {
				y = &b[0]
			}
			if x != nil {
				a = a[1:]
			}
			if y != nil {
				b = b[1:]
			}
			if !yield(x, y) {
				return
			}
		}
	}
}
