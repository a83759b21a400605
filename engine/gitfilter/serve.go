package gitfilter

import (
	"errors"
	"io"
	"slices"
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
