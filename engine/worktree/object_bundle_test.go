package worktree_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"markmill/engine/worktree/object"
)

// bundle is a small bundle as a run writes it.
func bundle(t testing.TB) []byte {
	t.Helper()
	blob := []byte("content\n")
	name := object.SHA1.Sum("blob", blob)
	tree := append([]byte("100644 a\x00"), name[:object.SHA1.Size]...)
	commit := object.NewCommit{Tree: object.SHA1.Sum("tree", tree), Author: object.Identity{Name: "M",
		Email: "m@x"}}.Encode(object.SHA1)
	all := map[object.Digest]struct {
		kind string
		data []byte
	}{}
	var list []object.Digest
	for _, o := range []struct {
		kind string
		data []byte
	}{{"commit", commit}, {"tree", tree}, {"blob", blob}} {
		d := object.SHA1.Sum(o.kind, o.data)
		all[d] = o
		list = append(list, d)
	}
	var out bytes.Buffer
	out.WriteString(object.BundleHead(object.SHA1, "", object.SHA1.OID(list[0]), "refs/markmill/runs/id"))
	err := object.WritePack(&out, object.SHA1, list, object.InMemory(func(d object.Digest) (string, []byte, error) {
		return all[d].kind, all[d].data, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestOpenBundle reads a bundle back, and refuses it when a byte follows or is missing.
func TestOpenBundle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bundle")
	open := func(data []byte) (*object.Bundle, error) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := object.OpenBundle(path)
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
	tip, _ := object.SHA1.Parse(b.Tip)
	list, err := b.Reach(tip)
	if err != nil || len(list) != 3 || len(b.Order) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	for _, d := range list {
		if kind, data, err := b.Get(d); err != nil || object.SHA1.Sum(kind, data) != d {
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
		b, err := object.OpenBundle(path)
		if err != nil {
			return
		}
		defer b.Close()
		for _, d := range b.Order {
			if kind, data, err := b.Get(d); err == nil && object.SHA1.Sum(kind, data) != d && b.Format == object.SHA1 {
				t.Errorf("an object is not the one that it is named as: %s", kind)
			}
		}
	})
}
