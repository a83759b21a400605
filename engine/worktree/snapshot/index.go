package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"os"
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

// Same reports whether a file still is what the index says, judged by its stat alone.
func (e Indexed) Same(st disk.Stat) bool {
	return !e.racy && e.Stage == 0 && !e.IntentToAdd && !e.ModifiedAt.IsZero() &&
		st.Mtime == e.ModifiedAt.UnixNano() && st.Ctime == e.CreatedAt.UnixNano() &&
		uint32(st.Inode) == e.Inode && uint32(st.Size) == e.Size && st.GitMode() == uint32(e.Mode)
}
