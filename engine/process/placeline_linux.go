package process

import (
	"encoding/binary"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// mostSent bounds a message between Markmill and a place: arguments and environment of a program have 2 MiB on Linux.
const mostSent = 16 << 20

// send writes a message: its length, with the files, and its words, each of which ends with NUL.
func send(line int, words []string, fds []int) error {
	text := strings.Join(words, "\x00") + "\x00"
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		if err := unix.Sendmsg(line, head, rights, nil, unix.MSG_NOSIGNAL); err == nil {
			break
		} else if err != unix.EINTR {
			return err
		}
	}
	for rest := []byte(text); len(rest) > 0; {
		n, err := unix.SendmsgN(line, rest, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return err
		}
		rest = rest[max(n, 0):]
	}
	return nil
}

// receive reads a message. The files are closed in programs that this one starts.
func receive(line int) (words []string, fds []int, err error) {
	head, rights := make([]byte, 4), make([]byte, unix.CmsgSpace(64*4))
	var n, oob int
	for {
		n, oob, _, _, err = unix.Recvmsg(line, head, rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL)
		if err != unix.EINTR {
			break
		}
	}
	if err == nil && n < len(head) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, nil, err
	}
	if messages, err := unix.ParseSocketControlMessage(rights[:oob]); err == nil {
		for _, m := range messages {
			more, _ := unix.ParseUnixRights(&m)
			fds = append(fds, more...)
		}
	}
	size := binary.LittleEndian.Uint32(head)
	if size > mostSent {
		return nil, fds, io.ErrUnexpectedEOF
	}
	text := make([]byte, size)
	for at := 0; at < len(text); {
		n, err := unix.Read(line, text[at:])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return nil, fds, io.ErrUnexpectedEOF
		}
		at += n
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), fds, nil
}
