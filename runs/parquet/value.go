package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks/codec"
)

// Logical types, and the converted types that were there before them.
const (
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalJSON      = 12
	logicalUUID      = 14

	oldUTF8 = 0
	oldEnum = 4
	oldDate = 6
	oldJSON = 19
)

// exact is the largest integer up to which a double holds every one.
const exact = 1<<53 - 1

// plain reads n values that stand one after the other.
func (l leaf) plain(body []byte, n int) ([]codec.Raw, error) {
	width := map[int]int{typeInt32: 4, typeInt64: 8, typeFloat: 4, typeReal: 8, typeFixed: l.width}[l.kind]
	out := make([]codec.Raw, 0, min(n, 8*len(body)+1))
	for i := range n {
		switch l.kind {
		case typeBool:
			if i/8 >= len(body) {
				return nil, errPage
			}
			out = append(out, truth(body[i/8]>>(i%8)&1 == 1))
			continue
		case typeBytes:
			if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) > int64(len(body)-4) {
				return nil, errPage
			}
			size := int(binary.LittleEndian.Uint32(body))
			v, err := l.bytes(body[4 : 4+size])
			if err != nil {
				return nil, err
			}
			out, body = append(out, v), body[4+size:]
			continue
		case typeInt32, typeInt64, typeFloat, typeReal, typeFixed:
		default:
			return nil, fmt.Errorf("has values of a type that is not read (type %d of Parquet)", l.kind)
		}
		if width <= 0 || len(body) < width {
			return nil, errPage
		}
		v, err := l.fixed(body[:width])
		if err != nil {
			return nil, err
		}
		out, body = append(out, v), body[width:]
	}
	return out, nil
}

func (l leaf) fixed(b []byte) (codec.Raw, error) {
	switch l.kind {
	case typeInt32:
		return l.integer(int64(int32(binary.LittleEndian.Uint32(b))), uint64(binary.LittleEndian.Uint32(b)))
	case typeInt64:
		return l.integer(int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b))
	case typeFloat: // as short as a float can be told
		f := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return real(float64(f), 32)
	case typeReal:
		return real(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	}
	return l.bytes(b)
}

// integer reads a whole number, and what is kept as one.
func (l leaf) integer(n int64, unsigned uint64) (codec.Raw, error) {
	switch about := l.logical; {
	case about[logicalDate] != nil || l.old == oldDate:
		return tagged("$date", time.Unix(0, 0).UTC().AddDate(0, 0, int(n)).Format(time.DateOnly))
	case about[logicalTimestamp] != nil:
		at, layout := since(about.inner(logicalTimestamp), n), "2006-01-02T15:04:05.999999999"
		if utc, _ := about.inner(logicalTimestamp)[1].(bool); utc {
			layout += "Z07:00"
		}
		return tagged("$date", at.Format(layout))
	case about[logicalTime] != nil:
		return codec.Marshal(since(about.inner(logicalTime), n).Format("15:04:05.999999999"))
	case about[logicalDecimal] != nil || l.scale > 0:
		return l.decimal(big.NewInt(n))
	case about[logicalInteger] != nil:
		if signed, given := about.inner(logicalInteger)[2].(bool); given && !signed {
			if unsigned > exact {
				return tagged("$int", strconv.FormatUint(unsigned, 10))
			}
			return codec.Raw(strconv.FormatUint(unsigned, 10)), nil
		}
	}
	if n > exact || n < -exact {
		return tagged("$int", strconv.FormatInt(n, 10))
	}
	return codec.Raw(strconv.FormatInt(n, 10)), nil
}

// since reads a count of milliseconds, microseconds or nanoseconds.
func since(about fields, n int64) time.Time {
	unit := about.inner(2)
	switch {
	case unit[1] != nil:
		return time.UnixMilli(n).UTC()
	case unit[2] != nil:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(n/1e9, n%1e9).UTC()
}

func (l leaf) decimal(n *big.Int) (codec.Raw, error) {
	scale := l.scale
	if about := l.logical.inner(logicalDecimal); about != nil {
		scale, _ = about.number(1)
	}
	if scale < 0 || scale > 1000 {
		return nil, errPage
	}
	digits := new(big.Int).Abs(n).String()
	if short := int(scale) + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	if at := len(digits) - int(scale); scale > 0 {
		digits = digits[:at] + "." + digits[at:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return codec.Marshal(digits)
}

// bytes reads a text, or what else is kept as bytes.
func (l leaf) bytes(b []byte) (codec.Raw, error) {
	switch about := l.logical; {
	case about[logicalString] != nil, about[logicalJSON] != nil, l.old == oldUTF8, l.old == oldEnum, l.old == oldJSON:
		return utf8Text(b)
	case about[logicalDecimal] != nil:
		n := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return l.decimal(n)
	case about[logicalUUID] != nil && len(b) == 16:
		return codec.Marshal(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
	}
	return tagged("$bytes", base64.StdEncoding.EncodeToString(b))
}

func real(f float64, bits int) (codec.Raw, error) {
	switch {
	case math.IsNaN(f):
		return tagged("$float", "nan")
	case math.IsInf(f, 1):
		return tagged("$float", "inf")
	case math.IsInf(f, -1):
		return tagged("$float", "-inf")
	}
	text := strconv.AppendFloat(nil, f, 'g', -1, bits)
	if !slices.ContainsFunc(text, func(c byte) bool { return c == '.' || c == 'e' }) {
		text = append(text, '.', '0') // a float stays one for readers that tell them apart
	}
	return codec.Raw(text), nil
}

func truth(b bool) codec.Raw { return codec.Raw(strconv.FormatBool(b)) }

// tagged is what JSON has no word for.
func tagged(tag, text string) (codec.Raw, error) {
	return codec.Marshal(map[string]string{tag: text})
}
