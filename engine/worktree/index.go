package worktree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/go-git/go-git/v6/plumbing/format/index"
	"github.com/go-git/go-git/v6/plumbing/hash"
)

// writeIndex writes a Git index (version 2) of what is captured, complete with stats and the cache
// of trees, so that the Git program's status reads no file and computes no tree.
func writeIndex(path string, f *format, root *node) error {
	var body []byte
	count := 0
	be := binary.BigEndian
	err := root.each("", func(p string, e *entry) error {
		start := len(body)
		st := e.st
		if e.mode == modeGitlink {
			st = stat{}
		}
		for _, v := range []int64{st.ctime / 1e9, st.ctime % 1e9, st.mtime / 1e9, st.mtime % 1e9,
			int64(st.dev), int64(st.ino), int64(e.mode), int64(st.uid), int64(st.gid), st.size} {
			body = be.AppendUint32(body, uint32(v))
		}
		body = append(body, e.oid[:f.size]...)
		body = be.AppendUint16(body, uint16(min(len(p), 0xfff)))
		body = append(body, p...)
		pad := 8 - (len(body)-start)%8
		body = append(body, make([]byte, pad)...)
		count++
		return nil
	})
	if err != nil {
		return err
	}
	head := append(be.AppendUint32([]byte("DIRC"), 2), 0, 0, 0, 0)
	be.PutUint32(head[8:], uint32(count))
	data := append(head, body...)
	if count > 0 {
		cache, _ := appendCache(nil, f, root, "")
		data = append(data, "TREE"...)
		data = be.AppendUint32(data, uint32(len(cache)))
		data = append(data, cache...)
	}
	h := f.new()
	h.Write(data)
	return writeNew(path, h.Sum(data), 0o666)
}

// appendCache writes the tree cache of a folder and gives the number of its entries; 0 for a folder that is in no tree.
func appendCache(buf []byte, f *format, n *node, name string) ([]byte, int) {
	var below []byte
	count, dirs := 0, 0
	for i := range n.files {
		if n.files[i].mode != 0 {
			count++
		}
	}
	for _, d := range n.dirs {
		var c int
		if below, c = appendCache(below, f, d, d.name); c > 0 {
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
	buf = append(buf, n.tree[:f.size]...)
	return append(buf, below...), count
}

// indexed is an entry of an index that somebody else wrote.
type indexed struct {
	*index.Entry
	racy bool // written in the second in which its file changed: the content may have changed since (racy Git)
}

// readIndex reads the index at path; a missing one is empty. A split or sparse index is an error: the Git program reads
// those. The checksum is not verified: a step that can write the index can write that too, and it costs most of the time.
func readIndex(path string, f *format) (map[string]indexed, error) {
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
	if err := index.NewDecoder(file, hash.New(f.crypto), index.WithSkipHash()).Decode(&list); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	out := make(map[string]indexed, len(list.Entries))
	for _, e := range list.Entries {
		out[e.Name] = indexed{e, e.ModifiedAt.Unix() >= fi.ModTime().Unix()}
	}
	return out, nil
}

// same reports whether a file still is what the index says, judged by its stat alone.
func (e indexed) same(st stat) bool {
	return !e.racy && e.Stage == index.Merged && !e.IntentToAdd && !e.ModifiedAt.IsZero() &&
		st.mtime == e.ModifiedAt.UnixNano() && st.ctime == e.CreatedAt.UnixNano() &&
		uint32(st.ino) == e.Inode && uint32(st.size) == e.Size && st.gitMode() == uint32(e.Mode)
}
