package parquet

import (
	"encoding/binary"
	"errors"
)

// Types of thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

var errShort = errors.New("the file ends within its metadata")

// maxDepth bounds how deep structures may stand in each other.
const maxDepth = 16

// fields are those of a structure, by number: int64, bool, []byte, fields, or []any of them.
type fields map[int16]any

func (f fields) number(id int16) (int64, bool) { n, ok := f[id].(int64); return n, ok }
func (f fields) text(id int16) string          { b, _ := f[id].([]byte); return string(b) }
func (f fields) inner(id int16) fields         { s, _ := f[id].(fields); return s }
func (f fields) list(id int16) []any           { l, _ := f[id].([]any); return l }

// thriftReader reads a structure without knowing what it is of.
type thriftReader struct {
	b  []byte
	at int
}

func (r *thriftReader) byte() (byte, error) {
	if r.at >= len(r.b) {
		return 0, errShort
	}
	r.at++
	return r.b[r.at-1], nil
}

func (r *thriftReader) uvarint() (uint64, error) {
	n, size := binary.Uvarint(r.b[r.at:])
	if size <= 0 {
		return 0, errShort
	}
	r.at += size
	return n, nil
}

func (r *thriftReader) varint() (int64, error) {
	n, err := r.uvarint()
	return int64(n>>1) ^ -int64(n&1), err
}

func (r *thriftReader) structure(depth int) (fields, error) {
	if depth > maxDepth {
		return nil, errors.New("its metadata is nested too deep")
	}
	out, id := fields{}, int16(0)
	for {
		head, err := r.byte()
		if err != nil || head == 0 {
			return out, err
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			n, err := r.varint()
			if err != nil {
				return nil, err
			}
			id = int16(n)
		}
		v, err := r.value(head&15, depth, false)
		if err != nil {
			return nil, err
		}
		out[id] = v
	}
}

// value reads one value. Of a field the truth stands in its type, within a list it takes a byte.
func (r *thriftReader) value(kind byte, depth int, listed bool) (any, error) {
	switch kind {
	case thriftTrue, thriftFalse:
		if !listed {
			return kind == thriftTrue, nil
		}
		b, err := r.byte()
		return b == thriftTrue, err
	case thriftByte:
		b, err := r.byte()
		return int64(int8(b)), err
	case thriftI16, thriftI32, thriftI64:
		return r.varint()
	case thriftDouble:
		if len(r.b)-r.at < 8 {
			return nil, errShort
		}
		r.at += 8
		return nil, nil // no field that is read is one
	case thriftBinary:
		n, err := r.uvarint()
		if err != nil || n > uint64(len(r.b)-r.at) {
			return nil, errShort
		}
		r.at += int(n)
		return r.b[r.at-int(n) : r.at], nil
	case thriftList, thriftSet:
		return r.values(depth)
	case thriftMap:
		return nil, errors.New("its metadata has a map, which no structure of Parquet has")
	case thriftStruct:
		return r.structure(depth + 1)
	}
	return nil, errors.New("its metadata is damaged")
}

func (r *thriftReader) values(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("its metadata is nested too deep")
	}
	head, err := r.byte()
	if err != nil {
		return nil, err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = r.uvarint(); err != nil {
			return nil, err
		}
	}
	if n > uint64(len(r.b)-r.at) { // each takes a byte at least
		return nil, errShort
	}
	var out []any
	for range n {
		v, err := r.value(head&15, depth+1, true)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// thriftWriter writes structures. Fields are written in the order of their numbers.
type thriftWriter struct {
	b    []byte
	last []int16 // field of each structure that is open
}

func (w *thriftWriter) begin() { w.last = append(w.last, 0) }

func (w *thriftWriter) end() {
	w.b = append(w.b, 0)
	w.last = w.last[:len(w.last)-1]
}

func (w *thriftWriter) field(id int16, kind byte) {
	last := &w.last[len(w.last)-1]
	w.b = append(w.b, byte(id-*last)<<4|kind) // never more than 15 apart here
	*last = id
}

func (w *thriftWriter) varint(n int64) { w.b = binary.AppendUvarint(w.b, uint64(n<<1)^uint64(n>>63)) }

func (w *thriftWriter) i32(id int16, n int) {
	w.field(id, thriftI32)
	w.varint(int64(n))
}

func (w *thriftWriter) i64(id int16, n int) {
	w.field(id, thriftI64)
	w.varint(int64(n))
}

func (w *thriftWriter) bytes(text string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(text)))
	w.b = append(w.b, text...)
}

func (w *thriftWriter) text(id int16, text string) {
	w.field(id, thriftBinary)
	w.bytes(text)
}

func (w *thriftWriter) structure(id int16, inside func()) {
	w.field(id, thriftStruct)
	w.begin()
	inside()
	w.end()
}

// list begins a list; its elements follow.
func (w *thriftWriter) list(id int16, kind byte, n int) {
	w.field(id, thriftList)
	if n < 15 {
		w.b = append(w.b, byte(n)<<4|kind)
		return
	}
	w.b = append(w.b, 0xF0|kind)
	w.b = binary.AppendUvarint(w.b, uint64(n))
}
