package gitfilter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ErrNoGit means that the peer did not send Git's greeting.
var ErrNoGit = errors.New("the peer did not send Git's greeting (git-filter-client, version=2)")

// Serve answers Git until it closes the pipe. clean returns what Git stores of content from the checkout; what Git
// checks out is returned unchanged.
func Serve(in io.Reader, out io.Writer, clean func(path string, content []byte) []byte) error {
	p := newPackets(in, out)
	hello, err := p.lines()
	if err != nil || !slices.Contains(hello, "git-filter-client") || !slices.Contains(hello, "version=2") {
		return ErrNoGit
	}
	p.say("git-filter-server", "version=2")
	if err := p.out.Flush(); err != nil {
		return err
	}
	if _, err := p.lines(); err != nil { // Git's capabilities include all that we need
		return cut(err)
	}
	// smudge too: Git refuses to check out without it if the filter is required.
	p.say("capability=clean", "capability=smudge")
	for {
		if err := p.out.Flush(); err != nil {
			return err
		}
		if err := p.answer(clean); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// answer answers the request for one file. It returns io.EOF when there are no more.
func (p *packets) answer(clean func(string, []byte) []byte) error {
	asked, err := p.lines()
	if err != nil {
		return err
	}
	command, path := "", ""
	for _, line := range asked {
		name, value, _ := strings.Cut(line, "=")
		switch name {
		case "command":
			command = value
		case "pathname":
			path = value
		}
	}
	content, err := p.bytes()
	if err != nil {
		return err
	}
	switch command {
	case "clean":
		content = clean(path, content)
	case "smudge":
	default:
		p.say("status=error")
		return nil
	}
	p.say("status=success")
	p.send(content)
	p.say() // an empty list keeps the status
	return nil
}

// packets implements Git's pkt-line format (gitprotocol-common): four hexadecimal digits of length, which count
// themselves, then the bytes; 0000 ends a list.
type packets struct {
	in  *bufio.Reader
	out *bufio.Writer
}

func newPackets(in io.Reader, out io.Writer) *packets {
	return &packets{in: bufio.NewReaderSize(in, 1<<16), out: bufio.NewWriterSize(out, 1<<16)}
}

// maxPacket is the maximum payload of a packet, in bytes.
const maxPacket = 65516

// read appends a packet to b; end reports the end of a list. It returns io.EOF when there are no more.
func (p *packets) read(b []byte) (_ []byte, end bool, err error) {
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return b, false, err
	}
	size, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil || size > 0 && size < 4 || size > maxPacket+4:
		return b, false, fmt.Errorf("git sent %q where the length of a packet was expected", head)
	case size == 0:
		return b, true, nil
	}
	n := len(b)
	b = append(b, make([]byte, size-4)...)
	if _, err := io.ReadFull(p.in, b[n:]); err != nil {
		return b, false, cut(err)
	}
	return b, false, nil
}

// cut is the error for a truncated list.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lines reads a list of lines. It returns io.EOF when there are no more.
func (p *packets) lines() (lines []string, err error) {
	for {
		line, end, err := p.read(nil)
		if lines != nil {
			err = cut(err)
		}
		if end || err != nil {
			return lines, err
		}
		lines = append(lines, strings.TrimSuffix(string(line), "\n"))
	}
}

// bytes reads a file's content.
func (p *packets) bytes() (content []byte, err error) {
	content = []byte{}
	for end := false; !end; {
		if content, end, err = p.read(content); err != nil {
			return nil, cut(err)
		}
	}
	return content, nil
}

// say writes a list of lines.
func (p *packets) say(lines ...string) {
	for _, line := range lines {
		p.write([]byte(line + "\n"))
	}
	p.end()
}

// write writes a packet. flush returns any error.
func (p *packets) write(data []byte) {
	fmt.Fprintf(p.out, "%04x", len(data)+4)
	_, _ = p.out.Write(data)
}

func (p *packets) end() { _, _ = p.out.WriteString("0000") }

// send writes a file's content.
func (p *packets) send(content []byte) {
	for len(content) > 0 {
		n := min(len(content), maxPacket)
		p.write(content[:n])
		content = content[n:]
	}
	p.end()
}
