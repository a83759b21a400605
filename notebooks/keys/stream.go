package keys

import (
	"bytes"
	"slices"

	"markmill/notebooks/lazyregexp"
)

// Shown holds the keys that are shown nevertheless, because they stand in test fixtures; nil holds none.
type Shown map[string]bool

var glue = lazyregexp.New(`\\[nr]|[^A-Za-z0-9+/=]`)

// same is equal for two spellings of a key in lines, in one line, and in a diff.
func same(text []byte) string { return glue.ReplaceAllString(string(text), "") }

// Add adds the keys of a text.
func (s Shown) Add(text []byte) {
	for _, f := range Find(text) {
		s[same(text[f.Start:f.End])] = true
	}
}

// Hide returns a text with words in place of its keys, and what they were, or b itself.
func (s Shown) Hide(b []byte) ([]byte, []string) {
	h := s.Stream()
	out := append(bytes.Clone(h.Next(b)), h.Rest()...)
	if len(h.Found) == 0 {
		return b, nil
	}
	return out, h.Found
}

// Stream hides keys in a stream that arrives in pieces.
type Stream struct {
	Found []string // what was hidden, each once

	shown   Shown
	held    []byte // not decided
	before  byte   // the byte before it
	out     []byte
	pos     int64 // of held in the stream
	changed []change
}

// change says that a range of the stream became so many bytes.
type change struct{ start, end, size int64 }

// Stream starts a stream.
func (s Shown) Stream() *Stream { return &Stream{shown: s, before: '\n'} }

// Next takes a piece and returns what is decided. The result may share memory with b and is valid until the next call.
func (s *Stream) Next(b []byte) []byte {
	if len(s.held) > 0 {
		s.held = append(s.held, b...)
		b = s.held
	}
	return s.hide(b, false)
}

// Write takes a piece and drops what it becomes: for a search.
func (s *Stream) Write(b []byte) (int, error) {
	s.Next(b)
	return len(b), nil
}

// Peek returns what Next would return, and takes nothing.
func (s *Stream) Peek(b []byte) []byte {
	probe := Stream{shown: s.shown, before: s.before, held: bytes.Clone(s.held)}
	return probe.Next(b)
}

// Rest ends the stream and returns what was held.
func (s *Stream) Rest() []byte { return s.hide(s.held, true) }

func (s *Stream) hide(b []byte, final bool) []byte {
	found, decided := find(b, s.before, final)
	out := b[:decided]
	if len(found) > 0 {
		s.out = s.out[:0]
		at := 0
		for _, f := range found {
			if s.shown[same(b[f.Start:f.End])] {
				continue
			}
			words := f.Words + ", not shown"
			s.out = append(append(s.out, b[at:f.Start]...), words...)
			if !slices.Contains(s.Found, f.Words) {
				s.Found = append(s.Found, f.Words)
			}
			if len(s.changed) < 1<<16 {
				s.changed = append(s.changed, change{s.pos + int64(f.Start), s.pos + int64(f.End), int64(len(words))})
			}
			at = f.End
		}
		out = append(s.out, b[at:decided]...)
		s.out = out
	} else if len(s.held) > 0 {
		s.out = append(s.out[:0], out...)
		out = s.out
	}
	if decided > 0 {
		s.before = b[decided-1]
	}
	s.pos += int64(decided)
	s.held = append(s.held[:0], b[decided:]...)
	return out
}

// At maps input byte n to its offset in the output.
func (s *Stream) At(n int64) int64 {
	at := n
	for _, c := range s.changed {
		if n <= c.start {
			break
		}
		at += c.size - (min(n, c.end) - c.start)
	}
	return at
}

// HidePatch hides the keys in those files of a patch, counted from 0, that hides names.
func (s Shown) HidePatch(patch []byte, hides func(file int, what []string) bool) []byte {
	var out []byte
	header := []byte("diff --git ")
	for i, at := 0, 0; at < len(patch); i++ {
		end := len(patch)
		if n := bytes.Index(patch[at+1:], append([]byte{'\n'}, header...)); n >= 0 {
			end = at + 1 + n + 1
		}
		section := patch[at:end]
		if hidden, what := s.Hide(section); what != nil && hides(i, what) {
			section = hidden
		}
		out, at = append(out, section...), end
	}
	return out
}
