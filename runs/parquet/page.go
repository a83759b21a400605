package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"markmill/notebooks/codec"
)

// maxPage bounds what a page is unpacked to, in bytes.
const maxPage = 256 << 20

var errPage = errors.New("a page is damaged")

// page is one page as it stands in the file.
type page struct {
	head  fields
	body  []byte
	codec int
	left  int // rows that are still to come
}

// unpacked is the body, or the part of it that is packed.
func (p page) unpacked(body []byte, size int64) ([]byte, error) {
	if size < 0 || size > maxPage {
		return nil, errPage
	}
	switch p.codec {
	case codecNone:
		return body, nil
	case codecSnappy:
		return unsnap(body, int(size))
	case codecGzip:
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, size))
	}
	return nil, fmt.Errorf("is packed in a way that is not read (codec %d of Parquet); Snappy and gzip are", p.codec)
}

func (l leaf) dictionary(p page) ([]codec.Raw, error) {
	size, _ := p.head.number(2)
	body, err := p.unpacked(p.body, size)
	if err != nil {
		return nil, err
	}
	n, _ := p.head.inner(7).number(1)
	if n < 0 || n > maxCells {
		return nil, errPage
	}
	return l.plain(body, int(n))
}

// page reads a data page: which rows have a value, and the values.
func (l leaf) page(p page, dictionary []codec.Raw, second bool) ([]codec.Raw, error) {
	size, _ := p.head.number(2)
	about, encodingAt := p.head.inner(5), int16(2)
	var levels, body []byte
	var err error
	if second {
		about, encodingAt = p.head.inner(8), 4
		defs, _ := about.number(5)
		reps, _ := about.number(6)
		if reps != 0 || defs < 0 || defs > int64(len(p.body)) {
			return nil, errPage
		}
		levels, body = p.body[:defs], p.body[defs:]
		if packed, given := about[7].(bool); !given || packed {
			if body, err = p.unpacked(body, size-defs); err != nil {
				return nil, err
			}
		}
	} else {
		if body, err = p.unpacked(p.body, size); err != nil {
			return nil, err
		}
		if l.optional {
			if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) > int64(len(body)-4) {
				return nil, errPage
			}
			n := int(binary.LittleEndian.Uint32(body))
			levels, body = body[4:4+n], body[4+n:]
		}
	}
	count, _ := about.number(1)
	if count < 0 || count > int64(p.left) {
		return nil, errPage
	}
	there, n := make([]int, count), int(count)
	if l.optional {
		if there, err = hybrid(levels, 1, n); err != nil {
			return nil, err
		}
		n = 0
		for _, level := range there {
			n += level
		}
	}
	encoding, _ := about.number(encodingAt)
	values, err := l.values(body, int(encoding), n, dictionary)
	if err != nil || !l.optional {
		return values, err
	}
	out := make([]codec.Raw, count)
	for i := range out {
		out[i] = codec.Raw("null")
		if there[i] == 1 {
			out[i], values = values[0], values[1:]
		}
	}
	return out, nil
}

func (l leaf) values(body []byte, encoding, n int, dictionary []codec.Raw) ([]codec.Raw, error) {
	switch {
	case encoding == encodingPlain:
		return l.plain(body, n)
	case encoding == encodingRLE && l.kind == typeBool:
		if len(body) < 4 {
			return nil, errPage
		}
		bits, err := hybrid(body[4:], 1, n)
		out := make([]codec.Raw, len(bits))
		for i, bit := range bits {
			out[i] = truth(bit == 1)
		}
		return out, err
	case encoding == encodingPlainDict || encoding == encodingDictionary:
		if n == 0 {
			return nil, nil
		}
		if len(body) == 0 {
			return nil, errPage
		}
		places, err := hybrid(body[1:], int(body[0]), n)
		if err != nil {
			return nil, err
		}
		out := make([]codec.Raw, n)
		for i, at := range places {
			if at < 0 || at >= len(dictionary) {
				return nil, errPage
			}
			out[i] = dictionary[at]
		}
		return out, nil
	}
	return nil, fmt.Errorf("is encoded in a way that is not read (encoding %d of Parquet)", encoding)
}

// hybrid reads n numbers of so many bits: runs of one number, and runs of packed ones.
func hybrid(b []byte, width, n int) ([]int, error) {
	if width < 0 || width > 31 {
		return nil, errPage
	}
	out := make([]int, 0, n) // n is bounded by what the caller believes
	for len(out) < n {
		head, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, errPage
		}
		b = b[size:]
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if len(b) < bytes || head>>1 == 0 {
				return nil, errPage
			}
			var word [8]byte
			copy(word[:], b[:bytes])
			b = b[bytes:]
			value := int(binary.LittleEndian.Uint32(word[:]))
			for range min(head>>1, uint64(n-len(out))) {
				out = append(out, value)
			}
			continue
		}
		groups := head >> 1 // of eight
		if groups == 0 {
			return nil, errPage
		}
		for i := range min(groups*8, uint64(n-len(out))) {
			value := 0
			for bit := range width {
				at := int(i)*width + bit
				if at/8 >= len(b) {
					return nil, errPage
				}
				value |= int(b[at/8]>>(at%8)&1) << bit
			}
			out = append(out, value)
		}
		b = b[min(uint64(len(b)), groups*uint64(width)):]
	}
	return out, nil
}
