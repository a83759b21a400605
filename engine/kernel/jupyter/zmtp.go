package jupyter

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// socket is one ZeroMQ connection to one peer. One goroutine reads; sends are serialized.
type socket struct {
	conn net.Conn
	in   *bufio.Reader
	mu   sync.Mutex
}

// Flags of a frame (RFC 23, "Framing").
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// maxMessage bounds what a peer can make this side hold.
const maxMessage = 1 << 30

// handshakeTime bounds a peer that accepts and says nothing.
const handshakeTime = 10 * time.Second

// newSocket shakes hands over a fresh connection. kind is the socket's type: "DEALER", "SUB".
func newSocket(conn net.Conn, kind, identity string) (*socket, error) {
	s := &socket{conn: conn, in: bufio.NewReaderSize(reader(conn), 64<<10)}
	conn.SetDeadline(time.Now().Add(handshakeTime))
	if err := s.handshake(kind, identity); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: ZeroMQ handshake: %w", ErrLost, err)
	}
	conn.SetDeadline(time.Time{})
	if kind == "SUB" { // to everything; in ZMTP 3.0 a subscription is a message
		if err := s.send([]byte{1}); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return s, nil
}

func (s *socket) handshake(kind, identity string) error {
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xFF, 0x7F, 3
	copy(greeting[12:32], "NULL")
	if _, err := s.conn.Write(greeting); err != nil {
		return err
	}
	theirs := make([]byte, 64)
	if _, err := io.ReadFull(s.in, theirs); err != nil {
		return err
	}
	if theirs[0] != 0xFF || theirs[9] != 0x7F || theirs[10] < 3 {
		return errors.New("the peer does not speak ZMTP 3")
	}
	if mechanism := string(bytes.TrimRight(theirs[12:32], "\x00")); mechanism != "NULL" {
		return fmt.Errorf("the peer wants the mechanism %s", mechanism)
	}
	ready := append([]byte{5}, "READY"...)
	ready = property(ready, "Socket-Type", kind)
	ready = property(ready, "Identity", identity)
	if _, err := s.conn.Write(append([]byte{flagCommand, byte(len(ready))}, ready...)); err != nil {
		return err
	}
	flags, body, err := s.frame()
	switch {
	case err != nil:
		return err
	case flags&flagCommand == 0 || !bytes.HasPrefix(body, append([]byte{5}, "READY"...)):
		return fmt.Errorf("the peer answered %.40q", body)
	}
	return nil
}

func property(to []byte, name, value string) []byte {
	to = append(append(to, byte(len(name))), name...)
	return append(binary.BigEndian.AppendUint32(to, uint32(len(value))), value...)
}

func (s *socket) frame() (flags byte, body []byte, err error) {
	if flags, err = s.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	var size uint64
	if flags&flagLong != 0 {
		var b [8]byte
		if _, err = io.ReadFull(s.in, b[:]); err != nil {
			return 0, nil, err
		}
		size = binary.BigEndian.Uint64(b[:])
	} else {
		b, err := s.in.ReadByte()
		if err != nil {
			return 0, nil, err
		}
		size = uint64(b)
	}
	if size > maxMessage {
		return 0, nil, fmt.Errorf("a frame of %d bytes is larger than %d", size, maxMessage)
	}
	if size <= 64<<10 {
		body = make([]byte, size)
		_, err = io.ReadFull(s.in, body)
		return flags, body, err
	}
	// Grown as it comes: a length that lies costs nothing.
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, s.in, int64(size)); err != nil {
		return 0, nil, err
	}
	return flags, buf.Bytes(), nil
}

// receive reads one message of one or more frames.
func (s *socket) receive() ([][]byte, error) {
	var frames [][]byte
	total := 0
	for {
		flags, body, err := s.frame()
		if err != nil {
			return nil, err
		}
		if flags&flagCommand != 0 {
			continue // none that a client of 3.0 must answer
		}
		if total += len(body); total > maxMessage {
			return nil, fmt.Errorf("a message is larger than %d bytes", maxMessage)
		}
		frames = append(frames, body)
		if flags&flagMore == 0 {
			return frames, nil
		}
	}
}

// send writes one message.
func (s *socket) send(frames ...[]byte) error {
	var out []byte
	for i, f := range frames {
		var flags byte
		if i < len(frames)-1 {
			flags = flagMore
		}
		if len(f) > 255 {
			out = append(binary.BigEndian.AppendUint64(append(out, flags|flagLong), uint64(len(f))), f...)
		} else {
			out = append(append(out, flags, byte(len(f))), f...)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.Write(out)
	return err
}

func (s *socket) close() { s.conn.Close() }
