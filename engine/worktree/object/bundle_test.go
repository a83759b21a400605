package object

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// bundle is a small bundle as a run writes it.
func bundle(t testing.TB) []byte {
	t.Helper()
	blob := []byte("content\n")
	name := SHA1.Sum("blob", blob)
	tree := append([]byte("100644 a\x00"), name[:SHA1.Size]...)
	commit := NewCommit{Tree: SHA1.Sum("tree", tree), Author: Identity{Name: "M", Email: "m@x"}}.Encode(SHA1)
	all := map[Digest]struct {
		kind string
		data []byte
	}{}
	var list []Digest
	for _, o := range []struct {
		kind string
		data []byte
	}{{"commit", commit}, {"tree", tree}, {"blob", blob}} {
		d := SHA1.Sum(o.kind, o.data)
		all[d] = o
		list = append(list, d)
	}
	var out bytes.Buffer
	out.WriteString(BundleHead(SHA1, "", SHA1.OID(list[0]), "refs/markmill/runs/id"))
	err := WritePack(&out, SHA1, list,
		InMemory(func(d Digest) (string, []byte, error) { return all[d].kind, all[d].data, nil }))
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestOpenBundle reads a bundle back, and refuses it when a byte follows or is missing.
func TestOpenBundle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bundle")
	open := func(data []byte) (*Bundle, error) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := OpenBundle(path)
		if err == nil {
			t.Cleanup(func() { b.Close() })
		}
		return b, err
	}
	whole := bundle(t)
	b, err := open(whole)
	if err != nil {
		t.Fatal(err)
	}
	tip, _ := SHA1.Parse(b.Tip)
	list, err := b.Reach(tip)
	if err != nil || len(list) != 3 || len(b.Order) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	for _, d := range list {
		if kind, data, err := b.Get(d); err != nil || SHA1.Sum(kind, data) != d {
			t.Errorf("%s %q %v", kind, data, err)
		}
	}
	for _, bad := range [][]byte{append(bytes.Clone(whole), 0), whole[:len(whole)-1], whole[:40]} {
		if _, err := open(bad); err == nil {
			t.Errorf("%d of %d bytes were taken for a bundle", len(bad), len(whole))
		}
	}
}

// FuzzOpenBundle: a record may come from anybody.
func FuzzOpenBundle(f *testing.F) {
	f.Add(bundle(f))
	path := filepath.Join(f.TempDir(), "bundle")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := OpenBundle(path)
		if err != nil {
			return
		}
		defer b.Close()
		for _, d := range b.Order {
			if kind, data, err := b.Get(d); err == nil && SHA1.Sum(kind, data) != d && b.Format == SHA1 {
				t.Errorf("an object is not the one that it is named as: %s", kind)
			}
		}
	})
}
