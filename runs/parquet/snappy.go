package parquet

import (
	"encoding/binary"
	"errors"
)

var errSnappy = errors.New("its Snappy data is damaged")

// unsnap takes Snappy's block format apart (github.com/google/snappy, format_description.txt). size is what must come out.
func unsnap(b []byte, size int) ([]byte, error) {
	n, at := binary.Uvarint(b)
	if at <= 0 || n != uint64(size) {
		return nil, errSnappy
	}
	out := make([]byte, 0, min(size, 64*len(b))) // no copy makes more than 64 bytes of two
	for at < len(b) {
		tag := b[at]
		at++
		length, back := int(tag>>2)+1, 0
		extra := [4]int{0, 1, 2, 4}[tag&3]
		if tag&3 == 0 && length > 60 { // the length stands in the bytes that follow
			extra = length - 60
		}
		if len(b)-at < extra {
			return nil, errSnappy
		}
		var word [8]byte
		copy(word[:], b[at:at+extra])
		at += extra
		number := int(binary.LittleEndian.Uint32(word[:]))
		switch tag & 3 {
		case 0:
			if extra > 0 {
				length = number + 1
			}
			if length > len(b)-at || length > size-len(out) {
				return nil, errSnappy
			}
			out = append(out, b[at:at+length]...)
			at += length
			continue
		case 1:
			length, back = 4+int(tag>>2)&7, int(tag>>5)<<8|number
		default:
			back = number
		}
		if back <= 0 || back > len(out) || length > size-len(out) {
			return nil, errSnappy
		}
		for range length { // what is copied may reach into what it makes
			out = append(out, out[len(out)-back])
		}
	}
	if len(out) != size {
		return nil, errSnappy
	}
	return out, nil
}
