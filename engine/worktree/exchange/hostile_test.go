package exchange

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/filemode"
	"github.com/go-git/go-git/v6/plumbing/object"
)

const testMax = 1 << 20

func openTest(t *testing.T) *Remote {
	t.Helper()
	r, err := Open("", t.TempDir(), t.TempDir(), false, testMax)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// entry is an object of a pack: its type, how large it says that it is, what comes before its bytes, and its bytes.
func entry(kind byte, base, data []byte) []byte {
	size := len(data)
	b := kind<<4 | byte(size&15)
	var out []byte
	for size >>= 4; size > 0; size >>= 7 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
	}
	out = append(append(out, b), base...)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(data)
	w.Close()
	return append(out, packed.Bytes()...)
}

func pack(entries ...[]byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(entries)))
	for _, e := range entries {
		out = append(out, e...)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// TestPackBounds takes a pack within the bounds, and refuses those that are, hold or make more.
func TestPackBounds(t *testing.T) {
	small := entry(3, nil, []byte("a"))
	// A delta of ten bytes that says that it makes a terabyte of the one byte before it.
	bomb := binary.AppendUvarint([]byte{1}, 1<<40)
	bomb = append(bomb, 0x90, 1)
	for _, c := range []struct {
		name  string
		pack  []byte
		large bool
	}{
		{"small", pack(small), false},
		{"zeros", pack(entry(3, nil, make([]byte, testMax+1))), true},
		{"many", pack(entry(3, nil, make([]byte, testMax/2)), entry(3, nil, make([]byte, testMax/2+1))), true},
		{"delta", pack(small, entry(6, []byte{byte(len(small))}, bomb)), true},
		{"long", make([]byte, testMax+1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := openTest(t).repo.Storer.(*limitedStore).PackfileWriter()
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Write(c.pack)
			err = errors.Join(err, w.Close())
			if errors.Is(err, errTooLarge) != c.large || !c.large && err != nil {
				t.Errorf("got %v, want too large: %v", err, c.large)
			}
		})
	}
}

// TestTreeBounds refuses trees that unpack to more files or folders than a record has, and names and modes that no
// record has.
func TestTreeBounds(t *testing.T) {
	r := openTest(t)
	put := func(entries ...object.TreeEntry) plumbing.Hash {
		t.Helper()
		o := r.repo.Storer.NewEncodedObject()
		o.SetType(plumbing.TreeObject)
		w, err := o.Writer()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries { // raw: Tree.Encode refuses some of the names
			fmt.Fprintf(w, "%o %s\x00", uint32(e.Mode), e.Name)
			w.Write(e.Hash.Bytes())
		}
		w.Close()
		hash, err := r.repo.Storer.SetEncodedObject(o)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	list := func(tree plumbing.Hash) error {
		top, err := object.GetTree(r.repo.Storer, tree)
		if err == nil {
			_, err = listTree(top)
		}
		return err
	}
	blob := plumbing.NewHash("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
	file := func(name string, mode filemode.FileMode) object.TreeEntry {
		return object.TreeEntry{Name: name, Mode: mode, Hash: blob}
	}
	if err := list(put(file("a", filemode.Regular), file("b..c", filemode.Regular))); err != nil {
		t.Errorf("a plain tree: %v", err)
	}
	var thousand []object.TreeEntry
	for i := range 1000 {
		thousand = append(thousand, file(fmt.Sprintf("%03d", i), filemode.Regular))
	}
	wide, deep := put(thousand...), put(file("f", filemode.Regular))
	for range 20 { // a thousand million files in 21 trees
		wide = put(object.TreeEntry{Name: "a", Mode: filemode.Dir, Hash: wide},
			object.TreeEntry{Name: "b", Mode: filemode.Dir, Hash: wide})
	}
	for range maxDepth {
		deep = put(object.TreeEntry{Name: "d", Mode: filemode.Dir, Hash: deep})
	}
	for want, tree := range map[string]plumbing.Hash{
		"more than 100000 files": wide,
		"folders are more than":  deep,
		"mode 0120000":           put(file("link", filemode.Symlink)),
		"mode 0160000":           put(file("module", filemode.Submodule)),
		"mode 0100755":           put(file("program", filemode.Executable)),
	} {
		if err := list(tree); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, name := range []string{"..", ".", "a/b", "/etc", `a\b`, `..\a`, ".lock", ".tmp-1", "../../a"} {
		if err := list(put(file(name, filemode.Regular))); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	if err := list(put(file("a", filemode.Regular), file("a", filemode.Regular))); err == nil {
		t.Error("a name that is there twice is taken")
	}
}
