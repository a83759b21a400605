package worktree

import (
	"bufio"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"markmill/notebooks"
	"markmill/runs"
)

// runRefs is where a run's last commit stands: in its bundle, and in a repository that Fetch wrote it to.
const runRefs = "refs/markmill/runs/"

// Bundle writes the run's commits into dir as runs.BundleFile, a Git bundle whose prerequisite is the base commit. The
// source's repository is not written. The file gets its name when it is whole. A run that changed nothing, or that has
// no source, has no bundle: nil.
func (t *Tree) Bundle(dir string) (*runs.BundleData, error) {
	if t.src == nil || !t.changed {
		return nil, nil
	}
	ref := runRefs + t.opt.RunID
	if !validRef(ref) {
		return nil, fmt.Errorf("the run id %q cannot name a ref", t.opt.RunID)
	}
	f, err := os.CreateTemp(dir, runs.TempPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // gone after the rename
	sum := sha256.New()
	w := &countingWriter{w: io.MultiWriter(f, sum)}
	buffered := bufio.NewWriterSize(w, 64<<10)
	buffered.WriteString(t.bundleHead(ref))
	if err = writePack(buffered, t.fmt, t.ofRun(), t.store.get, nil); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), runs.At(dir).File(runs.BundleFile))
	}
	if err != nil {
		return nil, err
	}
	return &runs.BundleData{File: runs.BundleFile, Digest: runs.Digest("sha256:" + hex.EncodeToString(sum.Sum(nil))), Bytes: int64(w.n), Ref: ref}, nil
}

// bundleHead is a bundle's text before its pack (gitformat-bundle). HEAD is there for `git fetch FILE` without a ref.
func (t *Tree) bundleHead(ref string) string {
	var b strings.Builder
	if t.fmt == formatSHA1 {
		b.WriteString(bundleV2)
	} else {
		b.WriteString(bundleV3 + "@object-format=" + t.fmt.name + "\n")
	}
	if !t.start.zero() {
		fmt.Fprintf(&b, "-%s base\n", t.fmt.oid(t.start))
	}
	last := t.fmt.oid(t.last)
	fmt.Fprintf(&b, "%s HEAD\n%s %s\n\n", last, last, ref)
	return b.String()
}

const (
	bundleV2 = "# v2 git bundle\n"
	bundleV3 = "# v3 git bundle\n"
)

// ofRun lists the objects of the run that the base commit lacks.
func (t *Tree) ofRun() []digest {
	base := t.baseBlobs()
	list := t.store.order[:t.settled:t.settled]
	for _, d := range t.store.order[t.settled:] {
		if !base[d] && !t.store.based[d] {
			list = append(list, d)
		}
	}
	return list
}

// baseBlobs are the blobs of the base among those that the run has stored: a step may have touched a file, or put an
// earlier content back.
func (t *Tree) baseBlobs() map[digest]bool {
	base := map[digest]bool{}
	for _, was := range t.total {
		if was.mode != 0 && t.store.known[was.oid] {
			base[was.oid] = true
		}
	}
	var walk func(n *node, prefix string)
	walk = func(n *node, prefix string) { // of a great many files, few have content that the run stored
		for i := range n.files {
			e := &n.files[i]
			if e.mode == 0 || !t.store.known[e.oid] {
				continue
			}
			if _, changed := t.total[prefix+e.name]; !changed {
				base[e.oid] = true
			}
		}
		for _, d := range n.dirs {
			walk(d, prefix+d.name+"/")
		}
	}
	walk(t.root, "")
	return base
}

// settleObjects is for a base of the run's own: it keeps of the store what the commit asked for lacks, and adds content
// that only the user's index has.
func (t *Tree) settleObjects() error {
	if t.src == nil {
		return nil // in a folder outside a repository nothing is bundled
	}
	for path, was := range t.total {
		t.store.based[was.oid] = true
		e := t.root.find(path)
		if e == nil || e.mode == 0 || e.mode == modeGitlink || t.store.known[e.oid] {
			continue
		}
		data, err := t.src.read("blob", e.oid)
		if err != nil {
			return err
		}
		if _, err := t.store.put("blob", data); err != nil {
			return err
		}
	}
	t.store.order = t.ofRun()
	t.settled = len(t.store.order)
	return nil
}

// Bundle is a run's Git bundle, open to read. It reads what Markmill writes: one tip and no deltas.
type Bundle struct {
	path    string
	file    *os.File
	fmt     *format
	ref     string
	tip     OID
	base    OID // the only prerequisite; "" without one
	order   []digest
	objects map[digest]bundled
}

// bundled is where an object stands in a bundle.
type bundled struct {
	kind   string
	size   int64
	offset int64 // of its compressed content
}

// OpenBundle reads a bundle through: its header, and the name of each object by its content. Close gives the file back.
func OpenBundle(path string) (_ *Bundle, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: path, Msg: "is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Bundle{path: path, file: f, fmt: formatSHA1, objects: map[digest]bundled{}}
	defer func() {
		if err != nil {
			f.Close()
			err = &notebooks.Error{Kind: notebooks.KindRecord, File: path, Msg: "cannot be read as a run's Git bundle: " + err.Error(), Err: err}
		}
	}()
	r := &packReader{r: bufio.NewReaderSize(f, 64<<10)}
	if err := b.readHead(r); err != nil {
		return nil, err
	}
	return b, b.readPack(r)
}

// Close gives the file back.
func (b *Bundle) Close() error { return b.file.Close() }

func (b *Bundle) readHead(r *packReader) error {
	refs := map[string]OID{}
	for n := 0; ; n++ {
		line, err := r.line()
		switch text := strings.TrimSuffix(line, "\n"); {
		case err != nil:
			return err
		case n == 0 && (line == bundleV2 || line == bundleV3):
		case n == 0:
			return errors.New("it does not begin as one")
		case text == "@object-format=sha256":
			b.fmt = formatSHA256
		case text == "":
			b.tip = refs["HEAD"]
			if b.ref == "" || refs[b.ref] != b.tip {
				return errors.New("its header does not name one commit of one run")
			}
			return nil
		case text[0] == '-' && b.base == "":
			oid, _, _ := strings.Cut(text[1:], " ")
			b.base = OID(oid)
		default:
			oid, name, found := strings.Cut(text, " ")
			if _, ok := b.fmt.parse(OID(oid)); !ok || !found || name != "HEAD" && (b.ref != "" || !validRef(name)) {
				return fmt.Errorf("line %d of its header is not understood", n+1)
			}
			if refs[name] = OID(oid); name != "HEAD" {
				b.ref = name
			}
		}
	}
}

func (b *Bundle) readPack(r *packReader) error {
	r.sum = b.fmt.new()
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	if string(head[:8]) != "PACK\x00\x00\x00\x02" {
		return errors.New("its pack does not begin as one")
	}
	count := int(head[8])<<24 | int(head[9])<<16 | int(head[10])<<8 | int(head[11])
	for range count {
		kind, size, err := readEntryHead(r)
		if err != nil {
			return err
		}
		at := r.n
		zr, err := zlib.NewReader(r)
		if err != nil {
			return err
		}
		h := b.fmt.new()
		h.Write(header(kind, size))
		if n, err := io.Copy(h, io.LimitReader(zr, size+1)); err != nil || n != size {
			return errors.Join(err, errors.New("an object is not as long as it says"))
		}
		if err := zr.Close(); err != nil {
			return err
		}
		var d digest
		h.Sum(d[:0])
		b.order = append(b.order, d)
		b.objects[d] = bundled{kind, size, at}
	}
	want := r.sum.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		return err
	}
	if string(got) != string(want) {
		return errors.New("its pack does not have the checksum that it ends with")
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return errors.New("something follows its pack")
	}
	return nil
}

// get reads an object of the bundle.
func (b *Bundle) get(d digest) (kind string, data []byte, err error) {
	o, ok := b.objects[d]
	if !ok {
		return "", nil, fmt.Errorf("%s is not in %s", b.fmt.oid(d), b.path)
	}
	zr, err := zlib.NewReader(bufio.NewReader(io.NewSectionReader(b.file, o.offset, 1<<62)))
	if err != nil {
		return "", nil, err
	}
	data = make([]byte, o.size)
	_, err = io.ReadFull(zr, data)
	return o.kind, data, err
}

// reach lists the objects of the bundle that can be reached from some of its commits and trees.
func (b *Bundle) reach(from ...digest) ([]digest, error) {
	seen := map[digest]bool{}
	var list []digest
	for len(from) > 0 {
		d := from[len(from)-1]
		from = from[:len(from)-1]
		if _, here := b.objects[d]; !here || seen[d] {
			continue
		}
		seen[d] = true
		list = append(list, d)
		if b.objects[d].kind == "blob" {
			continue
		}
		kind, data, err := b.get(d)
		if err != nil {
			return nil, err
		}
		if kind == "commit" {
			head, _, _ := strings.Cut(string(data), "\n\n")
			for line := range strings.SplitSeq(head, "\n") {
				word, oid, _ := strings.Cut(line, " ")
				if next, ok := b.fmt.parse(OID(oid)); ok && (word == "tree" || word == "parent") {
					from = append(from, next)
				}
			}
			continue
		}
		entries, err := parseTree(b.fmt, data)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			from = append(from, e.oid)
		}
	}
	return list, nil
}

// packReader counts and digests what is read. It reads single bytes, so that decompressing takes no byte too many.
type packReader struct {
	r   *bufio.Reader
	n   int64
	sum hash.Hash // nil before the pack
}

func (p *packReader) took(b []byte) {
	p.n += int64(len(b))
	if p.sum != nil {
		p.sum.Write(b)
	}
}

func (p *packReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.took(b[:n])
	return n, err
}

func (p *packReader) ReadByte() (byte, error) {
	c, err := p.r.ReadByte()
	if err == nil {
		p.took([]byte{c})
	}
	return c, err
}

func (p *packReader) line() (string, error) {
	line, err := p.r.ReadSlice('\n')
	p.took(line)
	return string(line), err
}

// Any says whether match takes the content of any object of the bundle.
func (b *Bundle) Any(match func([]byte) bool) (bool, error) {
	for _, d := range b.order {
		_, data, err := b.get(d)
		if err != nil {
			return false, err
		}
		if match(data) {
			return true, nil
		}
	}
	return false, nil
}
