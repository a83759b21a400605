package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"markmill/notebooks/codec"
)

// maxMessage bounds a message of the client, in bytes.
const maxMessage = 4 << 20

// wire is the stream of a client: a line is a message. The library ends the session at the first line that is no JSON;
// wire answers such a line with the error that JSON-RPC 2.0 (section 5.1) has for it, and goes on.
type wire struct {
	in  io.ReadCloser
	out io.WriteCloser
	mu  sync.Mutex
}

// JSON-RPC's codes.
const (
	codeParse   = -32700
	codeInvalid = -32600
)

// messages are the lines of the client that are JSON objects, or lists of them, which the library judges.
func (w *wire) messages() io.ReadCloser {
	from, to := io.Pipe()
	go func() {
		lines := bufio.NewReaderSize(w.in, 64<<10)
		for {
			line, whole, err := w.line(lines)
			switch line = bytes.TrimSpace(line); {
			case !whole:
				w.refuse(codeInvalid, fmt.Sprintf("the message is longer than %d bytes", maxMessage))
			case len(line) == 0:
			case !isJSON(line):
				w.refuse(codeParse, "the line is no JSON")
			case line[0] != '{' && line[0] != '[':
				w.refuse(codeInvalid, "the message is no JSON object")
			default:
				if _, perr := to.Write(append(line, '\n')); perr != nil {
					return
				}
			}
			if err != nil {
				to.CloseWithError(err)
				return
			}
		}
	}()
	return &closing{from, w.in}
}

// closing closes the stream of the client, too.
type closing struct {
	*io.PipeReader
	in io.Closer
}

func (c *closing) Close() error { return errors.Join(c.PipeReader.Close(), c.in.Close()) }

// line reads a line. Of one that is too long it keeps nothing, and whole is false.
func (w *wire) line(from *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := from.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxMessage; whole {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

func isJSON(line []byte) bool {
	d := codec.NewDecoder(line)
	if _, err := d.ReadValue(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// refuse answers a line that has no id.
func (w *wire) refuse(code int, words string) {
	b, err := codec.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": code, "message": words}})
	if err == nil {
		_, _ = w.Write(append(b, '\n')) // where the client is gone, its end of the stream is read next
	}
}

// Write writes whole messages: the library gives it one at a time.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (w *wire) Close() error { return w.out.Close() }
