package parquet

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

var errShort = errors.New("the file ends within its metadata")

// Bounds of the metadata: nesting depth and list length.
const (
	maxDepth = 16
	maxList  = 1 << 16
)

var compact = new(thrift.CompactProtocol)

// decode reads a structure of the metadata and returns its size in bytes. The library allocates lists up front and
// recurses without limit, so decode checks both first.
func decode(b []byte, into any) (int, error) {
	r := compact.NewReaderFromBytes(b)
	if err := (walker{r, len(b)}).value(thrift.STRUCT, 0); err != nil {
		return 0, err
	}
	n := r.BytesRead()
	r.ResetBytes(b[:n])
	if err := thrift.NewDecoder(r).Decode(into); err != nil {
		return 0, fmt.Errorf("its metadata is damaged: %w", err)
	}
	return n, nil
}

// walker skips over values.
type walker struct {
	r    thrift.Reader
	size int // bytes available
}

func (w walker) value(kind thrift.Type, depth int) (err error) {
	if depth > maxDepth {
		return errors.New("its metadata is nested too deep")
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE: // a boolean field's value is in its type
	case thrift.I8:
		_, err = w.r.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.r.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.r.ReadFloat64()
	case thrift.BINARY:
		_, err = w.r.ReadBytes()
	case thrift.LIST, thrift.SET:
		return w.list(depth)
	case thrift.STRUCT:
		for {
			field, err := w.r.ReadField()
			if err != nil {
				return errShort
			}
			if field.Type == thrift.STOP {
				return nil
			}
			if err := w.value(field.Type, depth+1); err != nil {
				return err
			}
		}
	default: // Parquet has no maps
		return fmt.Errorf("its metadata has a value of a kind that Parquet does not use (Thrift type %d)", kind)
	}
	if err != nil {
		return errShort
	}
	return nil
}

func (w walker) list(depth int) error {
	list, err := w.r.ReadList()
	if err != nil || int(list.Size) > w.size-w.r.BytesRead() { // each takes at least one byte
		return errShort
	}
	if list.Size > maxList {
		return fmt.Errorf("its metadata has a list of %d elements, more than are read", list.Size)
	}
	for range list.Size {
		if list.Type == thrift.TRUE || list.Type == thrift.FALSE {
			_, err = w.r.ReadBool()
		} else {
			err = w.value(list.Type, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
