package rules

import (
	"bytes"
	"runtime"
)

// nativeCRLF is what core.eol=native means here.
const nativeCRLF = runtime.GOOS == "windows"

// Conversion is what happens to one path's content (Git's convert.c). The zero value is nothing.
type Conversion struct {
	Text     bool // line endings are converted
	auto     bool // … if the content looks like text
	crlf     bool // lines end in CRLF in the worktree
	External bool // ident, an encoding or a configured filter: the Git program does it
}

// Of decides for a path.
func (cv *Converter) Of(r *Chain, path, name string) Conversion {
	if !cv.seen.Load() && cv.autocrlf == "" {
		return Conversion{}
	}
	a := cv.lookup(r, path, name)
	var c Conversion
	enc := a["working-tree-encoding"]
	c.External = a["ident"] == "+" || cv.filters[a["filter"]] || attrValue{"working-tree-encoding", enc}.changes()
	text := a["text"]
	if text == "" || text == "!" {
		text = a["crlf"]
	}
	eol := a["eol"]
	switch text {
	case "-":
		return c
	case "+":
		c.Text = true
	case "auto":
		c.Text, c.auto = true, true
	case "input":
		c.Text, eol = true, "lf"
	default:
		switch {
		case eol == "lf" || eol == "crlf":
			c.Text = true
		case cv.autocrlf != "":
			c.Text, c.auto = true, true
		default:
			return c
		}
	}
	switch {
	case eol == "crlf":
		c.crlf = true
	case eol == "lf":
	case cv.autocrlf != "":
		c.crlf = cv.autocrlf == "true"
	default:
		c.crlf = cv.eolCRLF
	}
	return c
}

// textStats are what Git judges text by.
type textStats struct {
	nul, loneCR, loneLF, crlf int
	printable, other          int
}

func gather(data []byte) textStats {
	var s textStats
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\r':
			if i+1 < len(data) && data[i+1] == '\n' {
				s.crlf++
				i++
			} else {
				s.loneCR++
			}
		case c == '\n':
			s.loneLF++
		case c == 127:
			s.other++
		case c < 32:
			switch c {
			case '\b', '\t', 033, '\f':
				s.printable++
			case 0:
				s.nul++
				s.other++
			default:
				s.other++
			}
		default:
			s.printable++
		}
	}
	if n := len(data); n > 0 && data[n-1] == 032 { // a DOS end of file
		s.other--
	}
	return s
}

func (s textStats) binary() bool {
	return s.loneCR > 0 || s.nul > 0 || s.printable>>7 < s.other
}

// Smudge converts content from the repository to the worktree.
func (c Conversion) Smudge(data []byte) []byte {
	if !c.Text || !c.crlf || len(data) == 0 {
		return data
	}
	s := gather(data)
	if s.loneLF == 0 || c.auto && (s.loneCR > 0 || s.crlf > 0 || s.binary()) {
		return data
	}
	out := make([]byte, 0, len(data)+s.loneLF)
	for i, b := range data {
		if b == '\n' && (i == 0 || data[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, b)
	}
	return out
}

// Clean converts content from the worktree to the repository; old returns the content stored before, nil if there was
// none.
func (c Conversion) Clean(data []byte, old func() ([]byte, error)) ([]byte, error) {
	if !c.Text || len(data) == 0 {
		return data, nil
	}
	s := gather(data)
	if s.crlf == 0 {
		return data, nil
	}
	if c.auto {
		if s.binary() {
			return data, nil
		}
		if keeps, err := c.Keeps(old); keeps || err != nil {
			return data, err
		}
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
}

// Keeps reports whether Git leaves the line endings of a file alone because it was stored with CRLF already.
func (c Conversion) Keeps(old func() ([]byte, error)) (bool, error) {
	if !c.auto {
		return false, nil
	}
	was, err := old()
	s := gather(was)
	return s.crlf > 0 && !s.binary(), err
}

// Plain reports whether the worktree has the repository's bytes unchanged.
func (c Conversion) Plain() bool { return !c.External && !(c.Text && c.crlf) }
