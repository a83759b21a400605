package jupyter

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// A server may send anything: what cannot be cut is refused, and nothing of it is read beyond its end.
func TestMessagesWithBuffers(t *testing.T) {
	message := func(offsets []uint32, rest string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(offsets)))
		for _, o := range offsets {
			b = binary.BigEndian.AppendUint32(b, o)
		}
		return append(b, rest...)
	}
	text, buffers, err := withBuffers(message([]uint32{16, 18, 19}, "{}abc"))
	if err != nil || string(text) != "{}" || len(buffers) != 2 ||
		!bytes.Equal(bytes.Join(buffers, []byte("|")), []byte("a|bc")) {
		t.Errorf("%q %q %v", text, buffers, err)
	}
	for _, bad := range [][]byte{nil, {0, 0, 0, 0}, {255, 255, 255, 255, 0}, message([]uint32{4}, "{}"),
		message([]uint32{12, 99}, "{}"), message([]uint32{14, 12}, "{}ab")} {
		if _, _, err := withBuffers(bad); err == nil {
			t.Errorf("%v is read", bad)
		}
	}
}
