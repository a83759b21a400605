package review

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"path"
	"slices"
	"strings"
)

// When a removed and an added file count as a rename.
const (
	mostAlike  = 0.5 // of their lines are the same, as Git asks
	maxHolders = 30  // a line that more files have than this tells nothing
)

// renames pairs removed files with similar added ones, in time near linear in their lines.
func (r *reviewer) renames(files []File) []File {
	seed := maphash.MakeSeed()
	holders := map[uint64][]int{} // of lines that went: the files
	sizes := map[int]int{}
	for i, f := range files {
		if f.New {
			continue
		}
		lines := lineSet(seed, r.base.book(f.Path))
		if lines == nil {
			continue
		}
		sizes[i] = len(lines)
		for l := range lines {
			if len(holders[l]) <= maxHolders {
				holders[l] = append(holders[l], i)
			}
		}
	}
	if len(sizes) == 0 {
		return files
	}
	type match struct {
		came, went int
		score      float64
	}
	var matches []match
	for i, f := range files {
		if f.Old {
			continue
		}
		b, shared := r.head.book(f.Path), map[int]int{}
		lines := lineSet(seed, b)
		for l := range lines {
			if len(holders[l]) <= maxHolders {
				for _, went := range holders[l] {
					shared[went]++
				}
			}
		}
		for went, n := range shared {
			score := float64(n) / float64(max(len(lines), sizes[went]))
			if score >= mostAlike && path.Ext(files[went].Path) == path.Ext(f.Path) &&
				r.base.book(files[went].Path).kind == b.kind {
				matches = append(matches, match{i, went, score})
			}
		}
	}
	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(files[a.came].Path, files[b.came].Path),
			strings.Compare(files[a.went].Path, files[b.went].Path))
	})
	taken := map[int]bool{}
	for _, m := range matches {
		if taken[m.came] || taken[m.went] {
			continue
		}
		taken[m.came], taken[m.went] = true, true
		files[m.came].From, files[m.came].Old = files[m.went].Path, true
		files[m.went] = File{}
	}
	return slices.DeleteFunc(files, func(f File) bool { return f.Path == "" })
}

// lineSet returns the distinct lines of a notebook that are worth comparing, nil of what is no notebook.
func lineSet(seed maphash.Seed, b *book) map[uint64]bool {
	if b.look().kind == "" || b.err != nil {
		return nil
	}
	out := map[uint64]bool{}
	for line := range bytes.Lines(b.raw) {
		if line = bytes.TrimSpace(line); len(line) > 3 && !bytes.HasPrefix(line, []byte("<!-- markmill:")) {
			out[maphash.Bytes(seed, line)] = true
		}
	}
	return out
}
