package worktree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
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
	ctime, mtime       int64
	dev, ino, mode     uint32
	uid, gid, size     uint32
	oid                digest
	stage              int
	skip, intent, racy bool
}

var errIndex = errors.New("an index that is not understood")

// readIndex reads versions 2 to 4. A split or sparse index is errIndex: the Git program reads those.
func readIndex(path string, f *format) (map[string]indexed, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]indexed{}, nil
	}
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	if len(data) < 12+f.size || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := be.Uint32(data[4:]), int(be.Uint32(data[8:]))
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("%w: version %d", errIndex, version)
	}
	body := data[12 : len(data)-f.size]
	out := make(map[string]indexed, min(count, len(body)/62))
	prev := ""
	for range count {
		if len(body) < 42+f.size {
			return nil, errIndex
		}
		word := func(i int) uint32 { return be.Uint32(body[4*i:]) }
		e := indexed{
			ctime: int64(word(0))*1e9 + int64(word(1)), mtime: int64(word(2))*1e9 + int64(word(3)),
			dev: word(4), ino: word(5), mode: word(6), uid: word(7), gid: word(8), size: word(9),
		}
		copy(e.oid[:], body[40:40+f.size])
		flags := be.Uint16(body[40+f.size:])
		e.stage = int(flags >> 12 & 3)
		at := 42 + f.size
		if flags&0x4000 != 0 && version >= 3 {
			if len(body) < at+2 {
				return nil, errIndex
			}
			more := be.Uint16(body[at:])
			e.skip, e.intent = more&0x4000 != 0, more&0x2000 != 0
			at += 2
		}
		var name string
		if version == 4 {
			cut, n := offsetVarint(body[at:])
			end := bytes.IndexByte(body[at+n:], 0)
			if n == 0 || cut > len(prev) || end < 0 {
				return nil, errIndex
			}
			name = prev[:len(prev)-cut] + string(body[at+n:at+n+end])
			at += n + end + 1
		} else {
			end := bytes.IndexByte(body[at:], 0)
			if end < 0 {
				return nil, errIndex
			}
			name = string(body[at : at+end])
			at += end
			at += 8 - at%8
		}
		if at > len(body) {
			return nil, errIndex
		}
		if e.mode == modeDir {
			return nil, fmt.Errorf("%w: it is sparse", errIndex)
		}
		// Written in the same second as the index: the content may have changed since, unseen (racy Git).
		e.racy = e.mtime/1e9 >= fi.ModTime().Unix()
		out[name], prev = e, name
		body = body[at:]
	}
	for len(body) >= 8 {
		if string(body[:4]) == "link" {
			return nil, fmt.Errorf("%w: it is split", errIndex)
		}
		body = body[min(len(body), 8+int(be.Uint32(body[4:]))):]
	}
	return out, nil
}

// offsetVarint reads the number that version 4 cuts from the name before.
func offsetVarint(b []byte) (v, n int) {
	for n < len(b) && n < 5 {
		c := b[n]
		v = v<<7 | int(c&0x7f)
		n++
		if c&0x80 == 0 {
			return v, n
		}
		v++
	}
	return 0, 0
}

// same tells whether a file still is what the index says, by its stat alone.
func (e indexed) same(st stat) bool {
	return !e.racy && e.stage == 0 && !e.intent && st.mtime == e.mtime && st.ctime == e.ctime &&
		uint32(st.ino) == e.ino && uint32(st.size) == e.size && st.gitMode() == e.mode && e.mtime != 0
}
