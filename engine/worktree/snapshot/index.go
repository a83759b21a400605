package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"os"
	"slices"
	"strconv"

	"github.com/go-git/go-git/v6/plumbing/format/index"
	"github.com/go-git/go-git/v6/plumbing/hash"
)

// WriteIndex writes a Git index (version 2) of what is captured, with stats and the cache of trees, so that `git
// status` reads no file and computes no tree. go-git's encoder writes no cache of trees.
func WriteIndex(path string, f *object.Format, root *Node) error {
	count, be := 0, binary.BigEndian
	for _, e := range root.Entries() {
		if e.Mode != 0 {
			count++
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	h := f.New()
	out := bufio.NewWriterSize(file, 1<<16)
	to := io.MultiWriter(out, h) // an error of the file comes again at the end
	to.Write(be.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(count)))
	var body []byte
	for prefix, e := range root.Entries() {
		if e.Mode == 0 {
			continue
		}
		p := prefix + e.Name
		body = body[:0]
		st := e.Stat
		if e.Mode == disk.ModeGitlink {
			st = disk.Stat{}
		}
		for _, v := range []int64{st.Ctime / 1e9, st.Ctime % 1e9, st.Mtime / 1e9, st.Mtime % 1e9,
			int64(st.Dev), int64(st.Inode), int64(e.Mode), int64(st.Uid), int64(st.Gid), st.Size} {
			body = be.AppendUint32(body, uint32(v))
		}
		body = append(body, e.OID[:f.Size]...)
		body = be.AppendUint16(body, uint16(min(len(p), 0xfff)))
		body = append(body, p...)
		to.Write(append(body, "\x00\x00\x00\x00\x00\x00\x00\x00"[len(body)%8:]...))
	}
	if count > 0 {
		cache, _ := appendCache(nil, f, root, "")
		to.Write(append(be.AppendUint32([]byte("TREE"), uint32(len(cache))), cache...))
	}
	out.Write(h.Sum(nil))
	return errors.Join(out.Flush(), file.Close())
}

// appendCache writes the tree cache of a folder and returns the number of its entries; 0 for a folder that is in no
// tree.
func appendCache(buf []byte, f *object.Format, n *Node, name string) ([]byte, int) {
	var below []byte
	count, dirs := 0, 0
	for i := range n.Files {
		if n.Files[i].Mode != 0 {
			count++
		}
	}
	for _, d := range n.Dirs {
		var c int
		if below, c = appendCache(below, f, d, d.Name); c > 0 {
			count, dirs = count+c, dirs+1
		}
	}
	if count == 0 {
		return buf, 0
	}
	buf = append(buf, name...)
	buf = append(buf, 0)
	buf = strconv.AppendInt(buf, int64(count), 10)
	buf = append(buf, ' ')
	buf = strconv.AppendInt(buf, int64(dirs), 10)
	buf = append(buf, '\n')
	buf = append(buf, n.Tree[:f.Size]...)
	return append(buf, below...), count
}

// Indexed is an entry of an index that somebody else wrote.
type Indexed struct {
	*index.Entry
	racy bool // written in the second in which its file changed: the content may have changed since (racy Git)
}

// ReadIndex reads the index at path; a missing one is empty. A split or sparse index is an error: the Git program reads
// those. The checksum is not verified: a step that can write the index can write that too, and it costs most of the
// time.
func ReadIndex(path string, f *object.Format) (map[string]Indexed, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var list index.Index
	if err := index.NewDecoder(file, hash.New(f.Crypto), index.WithSkipHash()).Decode(&list); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	out := make(map[string]Indexed, len(list.Entries))
	for _, e := range list.Entries {
		out[e.Name] = Indexed{e, e.ModifiedAt.Unix() >= fi.ModTime().Unix()}
	}
	return out, nil
}

// Index is an index that somebody else wrote, for one question: see Holds.
type Index struct {
	Tree    object.Digest // that all entries together are; zero if that is not known
	entries []byte
	count   uint32
	version uint32
	written int64 // by its time; what changed so late may have changed again since (racy Git)
	format  *object.Format
}

var errIndex = errors.New("an index of another kind")

// OpenIndex reads an index as far as it has to be read in any case. What it does not know is an error.
func OpenIndex(path string, f *object.Format) (*Index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	if len(data) < 12+f.Size || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	x := &Index{entries: data[12 : len(data)-f.Size], version: be.Uint32(data[4:]), count: be.Uint32(data[8:]),
		written: info.ModTime().Add(-coarseTick).UnixNano(), format: f}
	if x.version < 2 || x.version > 4 {
		return nil, errIndex
	}
	in := x.entries
	for range x.count {
		if len(in) > 40+f.Size && in[40+f.Size]&0xf0 != 0 { // more than a file that was added
			return nil, errIndex
		}
		if _, in = x.next(in, nil); in == nil {
			return nil, errIndex
		}
	}
	x.entries = x.entries[:len(x.entries)-len(in)]
	for len(in) > 0 {
		if len(in) < 8 || in[0] < 'A' || in[0] > 'Z' || uint64(be.Uint32(in[4:])) > uint64(len(in)-8) {
			return nil, errIndex // small letters: it cannot be understood without the extension
		}
		name, body := string(in[:4]), in[8:][:be.Uint32(in[4:])]
		in = in[8+len(body):]
		// the path of the root, which is empty, the number of entries, that of folders, and the tree
		if name != "TREE" {
			continue
		}
		head, rest, ok := bytes.Cut(body, []byte("\n"))
		count, _, _ := bytes.Cut(head, []byte(" "))
		if ok && string(count) == "\x00"+strconv.Itoa(int(x.count)) && len(rest) >= f.Size {
			x.Tree = object.RawDigest(rest[:f.Size])
		}
	}
	return x, nil
}

// EachTracked visits the paths in the index at file, in their order, until visit returns false. It does not see the
// entries that a split index keeps in another file.
func EachTracked(file string, f *object.Format, visit func(path []byte) bool) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	be := binary.BigEndian
	if len(data) < 12+f.Size || string(data[:4]) != "DIRC" || be.Uint32(data[4:]) < 2 || be.Uint32(data[4:]) > 4 {
		return fmt.Errorf("%s: %w", file, errIndex)
	}
	x := &Index{version: be.Uint32(data[4:]), format: f}
	in, name := data[12:len(data)-f.Size], make([]byte, 0, 256)
	for range be.Uint32(data[8:]) {
		if name, in = x.next(in, name); in == nil {
			return fmt.Errorf("%s: %w", file, errIndex)
		}
		if !visit(name) {
			break
		}
	}
	return nil
}

// next returns the path of an entry, which begins with the fields of its stat, and what follows it; nil at a damaged
// one. name is memory of the path before, which version 4 needs.
func (x *Index) next(in, name []byte) (path, rest []byte) {
	head := 40 + x.format.Size + 2
	if len(in) > head && in[head-2]&0x40 != 0 { // it has a second word of flags
		head += 2
	}
	if len(in) <= head {
		return nil, nil
	}
	rest = in[head:]
	if x.version == 4 {
		drop, shift := 0, 0
		for {
			if len(rest) == 0 || shift > 21 {
				return nil, nil
			}
			b := rest[0]
			rest = rest[1:]
			if drop = drop<<7 | int(b&0x7f); b&0x80 == 0 {
				break
			}
			drop, shift = drop+1, shift+7
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil, nil
		}
		if name != nil {
			if drop > len(name) {
				return nil, nil
			}
			name = append(name[:len(name)-drop], rest[:end]...)
		}
		return name, rest[end+1:]
	}
	end := bytes.IndexByte(rest, 0)
	if end < 0 {
		return nil, nil
	}
	size := (head + end + 8) &^ 7
	if size > len(in) {
		return nil, nil
	}
	return rest[:end], in[size:]
}

// Holds reports whether every file of a walked folder is in the index with the stat that it has, and nothing else is,
// no folder without a file included: that may be a repository.
func (x *Index) Holds(n *Node) bool {
	if n.hasEmpty() {
		return false
	}
	be := binary.BigEndian
	in, name, left := x.entries, make([]byte, 0, 256), x.count
	for prefix, e := range n.Entries() {
		at := in
		if left == 0 {
			return false
		}
		left--
		var path []byte
		if path, in = x.next(at, name); in == nil || len(path) != len(prefix)+len(e.Name) ||
			string(path[:len(prefix)]) != prefix || string(path[len(prefix):]) != e.Name {
			return false
		}
		if x.version == 4 {
			name = path
		}
		field := func(i int) uint32 { return be.Uint32(at[4*i:]) }
		st := e.Stat
		if mtime := int64(field(2))*1e9 + int64(field(3)); st.Mtime != mtime || mtime >= x.written ||
			st.Ctime != int64(field(0))*1e9+int64(field(1)) || uint32(st.Inode) != field(5) ||
			st.GitMode() != field(6) || uint32(st.Size) != field(9) {
			return false
		}
	}
	return left == 0
}

// Times gives each file of a tree that is not written yet the time of its last change that the index has, if it is the
// same file there.
func (x *Index) Times(n *Node) {
	be := binary.BigEndian
	in, name := x.entries, make([]byte, 0, 256)
	var at, path []byte
	more := func() {
		if at = in; len(in) == 0 {
			path = nil
		} else if path, in = x.next(at, name); x.version == 4 {
			name = path
		}
	}
	more()
	for prefix, e := range n.Entries() {
		full := prefix + e.Name
		for path != nil && string(path) < full {
			more()
		}
		if string(path) != full || be.Uint32(at[24:]) != e.Mode ||
			e.Mode&disk.ModeType != disk.ModeFile || !bytes.Equal(at[40:][:x.format.Size], e.OID[:x.format.Size]) {
			continue
		}
		e.Stat.Mtime = int64(be.Uint32(at[8:]))*1e9 + int64(be.Uint32(at[12:]))
	}
}

func (n *Node) hasEmpty() bool {
	return len(n.Files)+len(n.Dirs) == 0 || slices.ContainsFunc(n.Dirs, (*Node).hasEmpty)
}

// Same reports whether a file still is what the index says, judged by its stat alone.
func (e Indexed) Same(st disk.Stat) bool {
	return !e.racy && e.Stage == 0 && !e.IntentToAdd && !e.ModifiedAt.IsZero() &&
		st.Mtime == e.ModifiedAt.UnixNano() && st.Ctime == e.CreatedAt.UnixNano() &&
		uint32(st.Inode) == e.Inode && uint32(st.Size) == e.Size && st.GitMode() == uint32(e.Mode)
}
