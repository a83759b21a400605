package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/format"

	"markmill/notebooks/codec"
)

// maxPage is the maximum size of an unpacked page, in bytes.
const maxPage = 256 << 20

var errPage = errors.New("a page is damaged")

// page is one page as it stands in the file.
type page struct {
	head  format.PageHeader
	body  []byte
	codec format.CompressionCodec
	left  int // rows not yet read
}

// unpacked decompresses a body, or its compressed part, to size bytes.
func (p page) unpacked(body []byte, size int) ([]byte, error) {
	if size < 0 || size > maxPage {
		return nil, errPage
	}
	switch p.codec {
	case format.Uncompressed:
		return body, nil
	case format.Snappy: // an element expands three bytes to at most 64
		if n, err := snappy.DecodedLen(body); err != nil || n != size || size > 22*len(body) {
			return nil, errPage
		}
		return snappy.Decode(nil, body)
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, int64(size)))
	}
	return nil, fmt.Errorf("is packed by %s, which is not read; Snappy and gzip are", p.codec)
}

func (l leaf) dictionary(p page) ([]codec.Raw, error) {
	body, err := p.unpacked(p.body, int(p.head.UncompressedPageSize))
	if err != nil {
		return nil, err
	}
	n := int(p.head.DictionaryPageHeader.V.NumValues)
	if n < 0 || n > maxCells {
		return nil, errPage
	}
	return l.plain(body, n)
}

// page splits a data page into its number of rows, which of them have a value, and the values.
func (l leaf) page(p page) (count int, levels, body []byte, encoding format.Encoding, err error) {
	size := int(p.head.UncompressedPageSize)
	if p.head.Type == format.DataPageV2 {
		about := p.head.DataPageHeaderV2.V
		at := int(about.DefinitionLevelsByteLength)
		if about.RepetitionLevelsByteLength != 0 || at < 0 || at > len(p.body) {
			return 0, nil, nil, 0, errPage
		}
		levels, body = p.body[:at], p.body[at:]
		if packed := about.IsCompressed; packed.V || !packed.Valid {
			body, err = p.unpacked(body, size-at)
		}
		return int(about.NumValues), levels, body, about.Encoding, err
	}
	about := p.head.DataPageHeader.V
	if body, err = p.unpacked(p.body, size); err == nil && l.optional {
		if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) > int64(len(body)-4) {
			return 0, nil, nil, 0, errPage
		}
		at := 4 + int(binary.LittleEndian.Uint32(body))
		levels, body = body[4:at], body[at:]
	}
	return int(about.NumValues), levels, body, about.Encoding, err
}

// cells reads a data page: one value per row.
func (l leaf) cells(p page, dictionary []codec.Raw) ([]codec.Raw, error) {
	count, levels, body, encoding, err := l.page(p)
	if err != nil {
		return nil, err
	}
	if count < 0 || count > p.left {
		return nil, errPage
	}
	var there []int
	n := count
	if l.optional {
		if there, err = hybrid(levels, 1, n); err != nil {
			return nil, err
		}
		n = 0
		for _, level := range there {
			n += level
		}
	}
	values, err := l.values(body, encoding, n, dictionary)
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

func (l leaf) values(body []byte, encoding format.Encoding, n int, dictionary []codec.Raw) ([]codec.Raw, error) {
	switch {
	case encoding == format.Plain:
		return l.plain(body, n)
	case encoding == format.RLE && l.kind == format.Boolean:
		if len(body) < 4 {
			return nil, errPage
		}
		bits, err := hybrid(body[4:], 1, n)
		out := make([]codec.Raw, len(bits))
		for i, bit := range bits {
			out[i] = truth(bit == 1)
		}
		return out, err
	//lint:ignore SA1019 deprecated for writers, but files use it
	case encoding == format.PlainDictionary || encoding == format.RLEDictionary:
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
	return nil, fmt.Errorf("is encoded as %s, which is not read", encoding)
}

// hybrid reads n numbers of the given bit width, as runs of one number and runs of packed ones.
func hybrid(b []byte, width, n int) ([]int, error) {
	if width < 0 || width > 31 {
		return nil, errPage
	}
	out := make([]int, 0, n) // the caller bounds n
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
		groups := head >> 1 // of eight values
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
