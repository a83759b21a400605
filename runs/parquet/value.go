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

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"markmill/notebooks/codec"
)

// exact is the largest n such that a double holds every integer up to n.
const exact = 1<<53 - 1

// plain reads n consecutive values.
func (l leaf) plain(body []byte, n int) ([]codec.Raw, error) {
	width, known := map[format.Type]int{format.Boolean: 0, format.ByteArray: 0, format.Int32: 4, format.Int64: 8,
		format.Float: 4, format.Double: 8, format.FixedLenByteArray: int(l.TypeLength.V)}[l.kind]
	if !known && n > 0 {
		return nil, fmt.Errorf("has values of the type %s, which is not read", l.kind)
	}
	out := make([]codec.Raw, 0, min(n, 8*len(body)+1))
	for i := range n {
		size := int64(width)
		switch l.kind {
		case format.Boolean:
			if i/8 >= len(body) {
				return nil, errPage
			}
			out = append(out, truth(body[i/8]>>(i%8)&1 == 1))
			continue
		case format.ByteArray:
			if len(body) < 4 {
				return nil, errPage
			}
			size, body = int64(binary.LittleEndian.Uint32(body)), body[4:]
		default:
			if width <= 0 {
				return nil, errPage
			}
		}
		if size > int64(len(body)) {
			return nil, errPage
		}
		v, err := l.fixed(body[:size])
		if err != nil {
			return nil, err
		}
		out, body = append(out, v), body[size:]
	}
	return out, nil
}

func (l leaf) fixed(b []byte) (codec.Raw, error) {
	switch l.kind {
	case format.Int32:
		return l.integer(int64(int32(binary.LittleEndian.Uint32(b))), uint64(binary.LittleEndian.Uint32(b)))
	case format.Int64:
		return l.integer(int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b))
	case format.Float: // in the shortest form that identifies the float
		f := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return real(float64(f), 32)
	case format.Double:
		return real(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	}
	return l.bytes(b)
}

// integer reads an integer or a value stored as one.
func (l leaf) integer(n int64, unsigned uint64) (codec.Raw, error) {
	switch about := l.LogicalType.Value.(type) {
	case *format.DateType:
		return date(n)
	case *format.TimestampType:
		layout := "2006-01-02T15:04:05.999999999"
		if about.IsAdjustedToUTC {
			layout += "Z07:00"
		}
		return tagged("$date", since(about.Unit, n).Format(layout))
	case *format.TimeType:
		return codec.Marshal(since(about.Unit, n).Format("15:04:05.999999999"))
	case *format.DecimalType:
		return decimal(big.NewInt(n), about.Scale)
	case *format.IntType:
		if !about.IsSigned {
			if unsigned > exact {
				return tagged("$int", strconv.FormatUint(unsigned, 10))
			}
			return codec.Raw(strconv.FormatUint(unsigned, 10)), nil
		}
	case nil:
		switch {
		case l.ConvertedType.Valid && l.ConvertedType.V == deprecated.Date:
			return date(n)
		case l.Scale.V > 0:
			return decimal(big.NewInt(n), l.Scale.V)
		}
	}
	if n > exact || n < -exact {
		return tagged("$int", strconv.FormatInt(n, 10))
	}
	return codec.Raw(strconv.FormatInt(n, 10)), nil
}

func date(days int64) (codec.Raw, error) {
	return tagged("$date", time.Unix(0, 0).UTC().AddDate(0, 0, int(days)).Format(time.DateOnly))
}

// since reads a time stored as milliseconds, microseconds or nanoseconds.
func since(unit format.TimeUnit, n int64) time.Time {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli(n).UTC()
	case *format.MicroSeconds:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(n/1e9, n%1e9).UTC()
}

func decimal(n *big.Int, scale int32) (codec.Raw, error) {
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

// bytes reads a text or another value stored as bytes.
func (l leaf) bytes(b []byte) (codec.Raw, error) {
	switch about := l.LogicalType.Value.(type) {
	case *format.StringType, *format.JsonType:
		return utf8Text(b)
	case *format.DecimalType:
		n := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return decimal(n, about.Scale)
	case *format.UUIDType:
		if len(b) == 16 {
			return codec.Marshal(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
		}
	}
	if old := l.ConvertedType; old.Valid && (old.V == deprecated.UTF8 || old.V == deprecated.Enum ||
		old.V == deprecated.Json) {
		return utf8Text(b)
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
		text = append(text, '.', '0') // stays a float for readers that distinguish them
	}
	return codec.Raw(text), nil
}

func truth(b bool) codec.Raw { return codec.Raw(strconv.FormatBool(b)) }

// tagged returns a value that JSON cannot express.
func tagged(tag, text string) (codec.Raw, error) {
	return codec.Marshal(map[string]string{tag: text})
}
