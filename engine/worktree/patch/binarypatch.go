package patch

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// alphabet is Git's base 85, where a number is written with its highest digit first.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// writeBinary appends both ways of a binary change, so that the patch can also be undone.
func writeBinary(out *bytes.Buffer, old, new []byte) {
	out.WriteString("GIT binary patch\n")
	writeLiteral(out, new)
	writeLiteral(out, old)
}

// writeLiteral appends content, deflated, in lines of 52 bytes and an empty line.
func writeLiteral(out *bytes.Buffer, data []byte) {
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	zw.Write(data) // into memory: these cannot fail
	zw.Close()
	fmt.Fprintf(out, "literal %d\n", len(data))
	for rest := z.Bytes(); len(rest) > 0; {
		n := min(len(rest), 52)
		if n <= 26 {
			out.WriteByte('A' + byte(n) - 1)
		} else {
			out.WriteByte('a' + byte(n) - 27)
		}
		encode85(out, rest[:n])
		out.WriteByte('\n')
		rest = rest[n:]
	}
	out.WriteByte('\n')
}

func encode85(out *bytes.Buffer, data []byte) {
	for len(data) > 0 {
		var v uint32
		for i := range 4 {
			v <<= 8
			if i < len(data) {
				v |= uint32(data[i])
			}
		}
		var digits [5]byte
		for i := 4; i >= 0; i-- {
			digits[i] = alphabet[v%85]
			v /= 85
		}
		out.Write(digits[:])
		data = data[min(4, len(data)):]
	}
}

var errBinary = errors.New("a damaged binary patch")

// readLiteral reads what writeLiteral wrote from the front of lines, and how many lines it took.
func readLiteral(lines [][]byte) (data []byte, n int, err error) {
	if len(lines) == 0 {
		return nil, 0, errBinary
	}
	head, ok := bytes.CutPrefix(lines[0], []byte("literal "))
	if !ok {
		return nil, 0, errors.New("a binary patch of a kind other than literal")
	}
	size, err := strconv.ParseInt(string(bytes.TrimRight(head, "\n")), 10, 64)
	if err != nil || size < 0 {
		return nil, 0, errBinary
	}
	var z []byte
	for n = 1; n < len(lines); n++ {
		line := bytes.TrimRight(lines[n], "\n")
		if len(line) == 0 {
			n++
			break
		}
		if z, err = decode85(z, line); err != nil {
			return nil, 0, err
		}
	}
	zr, err := zlib.NewReader(bytes.NewReader(z))
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(zr, size+1))
	if err == nil && int64(len(data)) != size {
		err = errBinary
	}
	return data, n, err
}

// decode85 appends one line, whose first letter is its length.
func decode85(out, line []byte) ([]byte, error) {
	size := 0
	switch c := line[0]; {
	case 'A' <= c && c <= 'Z':
		size = int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		size = int(c-'a') + 27
	}
	line = line[1:]
	if size == 0 || len(line) != (size+3)/4*5 {
		return nil, errBinary
	}
	for ; len(line) > 0; line = line[5:] {
		var v uint64
		for _, c := range line[:5] {
			d := bytes.IndexByte([]byte(alphabet), c)
			if d < 0 {
				return nil, errBinary
			}
			v = v*85 + uint64(d)
		}
		if v > 1<<32-1 {
			return nil, errBinary
		}
		b := []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
		n := min(4, size)
		out = append(out, b[:n]...)
		size -= n
	}
	return out, nil
}
