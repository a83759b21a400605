package pool

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/snapshot"
)

// Table says what the file system said of each file and folder of a tree at the moment when its content was known to
// be right: just after it was written. A process cannot set a file's ctime, so an equal stat means an equal file.
type Table struct {
	Boot   string // see disk.Epoch
	Ahead  int64
	Second int64          // of the latest time in it, since 1970
	Name   string         // of the tree's folder
	Root   *snapshot.Node // files with Check set may not be used again

	// paths of files whose bytes are not those of their blob; they may not be used again, either
	Converted map[string]bool
}

// usable reports whether a file may be used again as long as its stat holds.
func (t *Table) usable(e *snapshot.Entry, path string) bool {
	return !e.Check && (len(t.Converted) == 0 || !t.Converted[path+e.Name])
}

const magic = "markmill pool 1\n"

// bytes are those of the files.
func (t *Table) bytes() (n int64) {
	for _, e := range t.Root.Entries() {
		n += e.Stat.Size
	}
	return n
}

// Encode gives the bytes of a table.
func (t *Table) Encode(f *object.Format) []byte {
	size := 1 << 10
	for range t.Root.Entries() {
		size += f.Size + 64
	}
	b := make([]byte, 0, size)
	b = append(b, magic...)
	b = putString(b, t.Boot)
	b = binary.AppendVarint(b, t.Ahead)
	b = binary.AppendVarint(b, t.Second)
	b = putString(b, t.Name)
	b = append(b, byte(f.Size))
	b = t.putNode(b, f, t.Root, "")
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func putString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (t *Table) putNode(b []byte, f *object.Format, n *snapshot.Node, path string) []byte {
	b = putStat(b, n.Stat)
	b = binary.AppendUvarint(b, uint64(len(n.Files)))
	for i := range n.Files {
		e := &n.Files[i]
		b = putString(b, e.Name)
		b = binary.AppendUvarint(b, uint64(e.Mode))
		b = append(b, e.OID[:f.Size]...)
		if !t.usable(e, path) {
			b = append(b, 1)
			continue
		}
		b = putStat(append(b, 0), e.Stat)
	}
	b = binary.AppendUvarint(b, uint64(len(n.Dirs)))
	for _, d := range n.Dirs {
		b = t.putNode(putString(b, d.Name), f, d, path+d.Name+"/")
	}
	return b
}

func putStat(b []byte, s disk.Stat) []byte {
	for _, v := range [...]int64{s.Mtime, s.Ctime - s.Mtime, s.Size, int64(s.Inode), int64(s.Dev), int64(s.Mode),
		int64(s.Uid), int64(s.Gid)} {
		b = binary.AppendVarint(b, v)
	}
	return b
}

var errDamaged = errors.New("the table of a pooled worktree is damaged")

// Decode reads the bytes of a table.
func Decode(b []byte) (*Table, error) {
	if len(b) < sha256.Size || !bytes.HasPrefix(b, []byte(magic)) {
		return nil, errDamaged
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, errDamaged
	}
	r := &reader{b: body[len(magic):]}
	t := &Table{Boot: r.text(), Ahead: r.number(), Second: r.number(), Name: r.text()}
	r.oid = int(r.next(1)[0])
	if r.oid > len(object.Digest{}) {
		return nil, errDamaged
	}
	t.Root = r.node(0)
	if r.bad || len(r.b) > 0 {
		return nil, errDamaged
	}
	return t, nil
}

// reader reads what Encode wrote. After bad is set it gives zeros.
type reader struct {
	b   []byte
	oid int
	bad bool
}

func (r *reader) next(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, 1)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) number() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) length() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > math.MaxInt32 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reader) text() string { return string(r.next(r.length())) }

// name reads the name of an entry of a folder.
func (r *reader) name() string {
	name := r.text()
	r.bad = r.bad || name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/')
	return name
}

func (r *reader) stat() (s disk.Stat) {
	s.Mtime = r.number()
	s.Ctime = s.Mtime + r.number()
	s.Size, s.Inode, s.Dev = r.number(), uint64(r.number()), uint64(r.number())
	s.Mode, s.Uid, s.Gid = uint32(r.number()), uint32(r.number()), uint32(r.number())
	return s
}

func (r *reader) node(depth int) *snapshot.Node {
	n := &snapshot.Node{Stat: r.stat()}
	count := r.length()
	if count > len(r.b) || depth > 4096 { // a file takes more than a byte
		r.bad = true
		return n
	}
	n.Files = make([]snapshot.Entry, 0, count)
	for range count {
		e := snapshot.Entry{Name: r.name(), Mode: uint32(r.length())}
		copy(e.OID[:], r.next(r.oid))
		if e.Check = r.next(1)[0] != 0; !e.Check {
			e.Stat = r.stat()
		}
		if r.bad {
			return n
		}
		n.Files = append(n.Files, e)
	}
	for range r.length() {
		name := r.name()
		if r.bad {
			return n
		}
		d := r.node(depth + 1)
		d.Name = name
		n.Dirs = append(n.Dirs, d)
	}
	return n
}

// Clean removes from a tree whatever the table does not prove to be as it was written, so that nothing that a run wrote
// stays in the pool. now is what the last look at the tree found, which saves another at each file; nil: there is none.
// Whoever takes the tree looks at every file again.
func (t *Table) Clean(f *disk.Folder, now *snapshot.Node) error { return t.clean(f, t.Root, now, "") }

func (t *Table) clean(f *disk.Folder, was, now *snapshot.Node, path string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st != was.Stat {
		if err := removeOthers(f, was); err != nil {
			return err
		}
	}
	shared := now != nil && now.Shares(was)
	for i := range was.Files {
		e := &was.Files[i]
		usable := t.usable(e, path)
		if usable && shared {
			continue
		}
		st, err := f.Lstat(e.Name)
		if err == nil && (!usable || st != e.Stat) {
			err = f.Remove(e.Name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, d := range was.Dirs {
		sub, err := f.SubInside(d.Name)
		if err == nil {
			var below *snapshot.Node
			if now != nil {
				if i, ok := snapshot.FindDir(now.Dirs, d.Name); ok {
					below = now.Dirs[i]
				}
			}
			err = t.clean(sub, d, below, path+d.Name+"/")
			sub.Close()
		}
		if err != nil { // whatever it is, it is no part of the tree any more
			if err := f.Remove(d.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeOthers removes from a folder what the table does not have there.
func removeOthers(f *disk.Folder, was *snapshot.Node) error {
	names, err := f.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		_, file := snapshot.FindEntry(was.Files, name)
		_, dir := snapshot.FindDir(was.Dirs, name)
		if !file && !dir {
			if err := f.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
