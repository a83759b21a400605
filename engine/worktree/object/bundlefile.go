package object

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/format/packfile"

	"markmill/notebooks"
)

const (
	bundleV2 = "# v2 git bundle\n"
	bundleV3 = "# v3 git bundle\n"
)

// Bundle is a run's Git bundle, open to read. It reads what Markmill writes: one tip and no deltas.
type Bundle struct {
	Path    string
	file    *os.File
	Format  *Format
	Ref     string
	Tip     OID
	Base    OID // the only prerequisite; "" without one
	Order   []Digest
	Objects map[Digest]bundled
}

// bundled is where an object stands in a bundle.
type bundled struct {
	kind   string
	size   int64
	offset int64 // of its compressed content
}

// OpenBundle reads a bundle from beginning to end: its header, and the name of each object, computed from the content.
// Close releases the file.
func OpenBundle(path string) (_ *Bundle, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: path, Msg: "is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Path: path, file: f, Format: SHA1, Objects: map[Digest]bundled{}}
	defer func() {
		if err != nil {
			f.Close()
			err = &notebooks.Error{Kind: notebooks.KindRecord, File: path,
				Msg: "cannot be read as a run's Git bundle: " + err.Error(), Err: err}
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head, err := b.readHead(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		return nil, err
	}
	_, err = scanPack(io.NewSectionReader(f, head, info.Size()-head), b.Format, func(o packfile.ObjectHeader) {
		d := RawDigest(o.Hash.Bytes())
		b.Order = append(b.Order, d)
		b.Objects[d] = bundled{o.Type.String(), o.Size, head + o.ContentOffset}
	})
	return b, err
}

// Close releases the file.
func (b *Bundle) Close() error { return b.file.Close() }

// readHead reads the text before the pack, and returns its size.
func (b *Bundle) readHead(r *bufio.Reader) (size int64, err error) {
	refs := map[string]OID{}
	for n := 0; ; n++ {
		data, err := r.ReadSlice('\n') // of a limited length
		line := string(data)
		size += int64(len(line))
		switch text := strings.TrimSuffix(line, "\n"); {
		case err != nil:
			return 0, err
		case n == 0 && (line == bundleV2 || line == bundleV3):
		case n == 0:
			return 0, errors.New("it does not begin as one")
		case text == "@object-format=sha256":
			b.Format = SHA256
		case text == "":
			b.Tip = refs["HEAD"]
			if b.Ref == "" || refs[b.Ref] != b.Tip {
				return 0, errors.New("its header does not name one commit of one run")
			}
			return size, nil
		case text[0] == '-' && b.Base == "":
			oid, _, _ := strings.Cut(text[1:], " ")
			b.Base = OID(oid)
		default:
			oid, name, found := strings.Cut(text, " ")
			if _, ok := b.Format.Parse(OID(oid)); !ok || !found || name != "HEAD" && (b.Ref != "" || !ValidRef(name)) {
				return 0, fmt.Errorf("line %d of its header is not understood", n+1)
			}
			if refs[name] = OID(oid); name != "HEAD" {
				b.Ref = name
			}
		}
	}
}

// Get reads an object of the bundle.
func (b *Bundle) Get(d Digest) (kind string, data []byte, err error) {
	o, ok := b.Objects[d]
	if !ok {
		return "", nil, fmt.Errorf("%s is not in %s", b.Format.OID(d), b.Path)
	}
	zr, err := zlib.NewReader(bufio.NewReader(io.NewSectionReader(b.file, o.offset, 1<<62)))
	if err != nil {
		return "", nil, err
	}
	data = make([]byte, o.size)
	_, err = io.ReadFull(zr, data)
	return o.kind, data, err
}

// First is the first commit of the bundle: the child of its prerequisite that its tip descends from by first parents.
func (b *Bundle) First() (OID, error) {
	d, ok := b.Format.Parse(b.Tip)
	for ok {
		kind, data, err := b.Get(d)
		if err != nil || kind != "commit" {
			return "", errors.Join(err, fmt.Errorf("%s has no commit %s", b.Path, b.Format.OID(d)))
		}
		parents := ParseCommit(b.Format, data).Parents
		if len(parents) == 0 {
			break
		}
		if _, here := b.Objects[parents[0]]; !here {
			break
		}
		d = parents[0]
	}
	return b.Format.OID(d), nil
}

// Reach lists the objects of the bundle that can be reached from some of its commits and trees.
func (b *Bundle) Reach(from ...Digest) ([]Digest, error) {
	seen := map[Digest]bool{}
	var list []Digest
	for len(from) > 0 {
		d := from[len(from)-1]
		from = from[:len(from)-1]
		if _, here := b.Objects[d]; !here || seen[d] {
			continue
		}
		seen[d] = true
		list = append(list, d)
		if b.Objects[d].kind == "blob" {
			continue
		}
		kind, data, err := b.Get(d)
		if err != nil {
			return nil, err
		}
		if kind == "commit" {
			commit := ParseCommit(b.Format, data)
			from = append(append(from, commit.Tree), commit.Parents...)
			continue
		}
		entries, err := ParseTree(b.Format, data)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			from = append(from, e.OID)
		}
	}
	return list, nil
}

// Any reports whether match accepts the content of any object of the bundle.
func (b *Bundle) Any(match func([]byte) bool) (bool, error) {
	for _, d := range b.Order {
		_, data, err := b.Get(d)
		if err != nil {
			return false, err
		}
		if match(data) {
			return true, nil
		}
	}
	return false, nil
}

// BundleHead is a bundle's text before its pack (gitformat-bundle). HEAD is there for `git fetch FILE` without a ref.
func BundleHead(f *Format, base, tip OID, ref string) string {
	var b strings.Builder
	if f == SHA1 {
		b.WriteString(bundleV2)
	} else {
		b.WriteString(bundleV3 + "@object-format=" + f.Name + "\n")
	}
	if base != "" {
		fmt.Fprintf(&b, "-%s base\n", base)
	}
	fmt.Fprintf(&b, "%s HEAD\n%s %s\n\n", tip, tip, ref)
	return b.String()
}

// ValidRef follows `git check-ref-format`.
func ValidRef(name string) bool { return plumbing.ReferenceName(name).Validate() == nil }

// ValidBranch follows `git check-ref-format --branch`: HEAD, @ and names that begin with a dash are no branches.
func ValidBranch(name string) bool { return name != "HEAD" && ValidRef("refs/heads/"+name) }
