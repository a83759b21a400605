package gitfilter

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// ErrNoGit means that the peer is not Git, which names itself and the version of the protocol.
var ErrNoGit = errors.New("what speaks did not say git-filter-client, version=2, as Git does")

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
	if _, err := p.lines(); err != nil { // what Git can: all that is needed here
		return cut(err)
	}
	// With smudge, too: where a filter is required, Git refuses to check out without it.
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

// answer answers for one file. It returns io.EOF when there are no more.
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
	p.say() // the status stays as it was
	return nil
}
