package object

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/notebooks"
)

// TreeEntry is one entry of a tree object.
type TreeEntry struct {
	Mode uint32
	Name string
	OID  Digest
}

// ParseTree reads a tree object, and refuses names that would lead out of the worktree or into its .git.
func ParseTree(f *Format, data []byte) ([]TreeEntry, error) {
	var out []TreeEntry
	text := string(data) // one copy, which the names share
	for len(text) > 0 {
		mode, rest, ok := strings.Cut(text, " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		name, rest, ok2 := strings.Cut(rest, "\x00")
		if !ok || !ok2 || err != nil || len(rest) < f.Size {
			return nil, errors.New("a damaged tree object")
		}
		if !filepath.IsLocal(name) || name == "." || strings.EqualFold(name, ".git") ||
			strings.ContainsRune(name, '/') {
			return nil, &notebooks.Error{Kind: notebooks.KindInput,
				Msg: fmt.Sprintf("a tree of the base commit holds an entry named %q, which is not checked out", name)}
		}
		e := TreeEntry{Mode: uint32(m), Name: name}
		copy(e.OID[:], rest[:f.Size])
		out = append(out, e)
		text = rest[f.Size:]
	}
	return out, nil
}

// DiffTrees calls visit for each path that is no folder and that differs between two trees; the zero digest is an empty
// tree, and the zero entry none.
func DiffTrees(prefix string, a, b Digest, readA, readB func(Digest) ([]TreeEntry, error),
	visit func(path string, a, b TreeEntry)) error {
	if a == b {
		return nil
	}
	both := map[string]*[2]TreeEntry{}
	for i, id := range []Digest{a, b} {
		if id.IsZero() {
			continue
		}
		entries, err := []func(Digest) ([]TreeEntry, error){readA, readB}[i](id)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if both[e.Name] == nil {
				both[e.Name] = &[2]TreeEntry{}
			}
			both[e.Name][i] = e
		}
	}
	for name, pair := range both {
		if pair[0] == pair[1] {
			continue
		}
		var folders [2]Digest
		for i := range pair {
			if pair[i].Mode == disk.ModeDir {
				folders[i], pair[i] = pair[i].OID, TreeEntry{}
			}
		}
		if pair[0].Mode != 0 || pair[1].Mode != 0 {
			visit(prefix+name, pair[0], pair[1])
		}
		if err := DiffTrees(prefix+name+"/", folders[0], folders[1], readA, readB, visit); err != nil {
			return err
		}
	}
	return nil
}

// AppendTreeEntry appends an entry as a tree object holds it. The mode of a folder is 40000, without a leading zero.
func AppendTreeEntry(f *Format, buf []byte, mode uint32, name string, d Digest) []byte {
	buf = strconv.AppendUint(buf, uint64(mode), 8)
	buf = append(buf, ' ')
	buf = append(buf, name...)
	buf = append(buf, 0)
	return append(buf, d[:f.Size]...)
}

// SortTree sorts entries as a tree object has them: a folder as if its name ended in a slash.
func SortTree(entries []TreeEntry) {
	key := func(e TreeEntry) string {
		if e.Mode == disk.ModeDir {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(entries, func(a, b TreeEntry) int { return strings.Compare(key(a), key(b)) })
}

// NameTree returns the name of the tree object that has sorted entries.
func NameTree(f *Format, entries []TreeEntry) Digest {
	var buf []byte
	for _, e := range entries {
		buf = AppendTreeEntry(f, buf, e.Mode, e.Name, e.OID)
	}
	return f.Sum("tree", buf)
}

// DigestNames returns the digest of the names in a folder and of what each is: SHA-256 over the entries by name, each
// a letter (d folder, l link, s submodule, f file), the name and a zero byte.
func DigestNames(entries []TreeEntry) string {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, e := range sorted {
		kind := "f"
		switch e.Mode & disk.ModeType {
		case disk.ModeDir:
			kind = "d"
		case disk.ModeLink:
			kind = "l"
		case disk.ModeGitlink:
			kind = "s"
		}
		io.WriteString(h, kind+e.Name+"\x00")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
