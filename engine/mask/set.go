package mask

import (
	"io"
	"slices"
)

const (
	// Mark replaces a secret.
	Mark = "***"
	// Least is the length in bytes of the shortest value that can be masked: shorter ones occur in too much text by
	// chance.
	Least = 6
	// Most is the length of the longest.
	Most = 16 << 10
)

// Set holds a run's secret values in all spellings. It is immutable; nil is the empty set.
type Set struct {
	plain, wrapped *automaton
	begins         *[1 << 16]bool // by two bytes: a value may begin with them
}

// New returns the set of values, each Least to Most bytes long.
func New(values []string) *Set {
	if len(values) == 0 {
		return nil
	}
	var plain, wrapped []string
	for _, v := range values {
		p, w := forms(v)
		plain, wrapped = append(plain, p...), append(wrapped, w...)
	}
	return newSet(newAutomaton(plain, false), newAutomaton(wrapped, true))
}

func newSet(plain, wrapped *automaton) *Set {
	s := &Set{plain: plain, wrapped: wrapped, begins: new([1 << 16]bool)}
	for i := range s.begins {
		s.begins[i] = plain.mayBegin(byte(i>>8), byte(i)) || wrapped.mayBegin(byte(i>>8), byte(i))
	}
	return s
}

// quiet returns how many bytes at the start of b neither begin a value nor may be followed by bytes with which they do.
func (s *Set) quiet(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	last := uint16(b[0])
	for i, c := range b[1:] {
		last = last<<8 | uint16(c)
		if s.begins[last] {
			return i
		}
	}
	return len(b) - 1
}

// In reports whether b contains a value.
func (s *Set) In(b []byte) bool {
	f := s.Find()
	_, _ = f.Write(b)
	return f.Found()
}

// Bytes returns b with every value replaced by Mark, or b itself if there is none.
func (s *Set) Bytes(b []byte) []byte {
	if !s.In(b) {
		return b
	}
	m := s.Stream()
	return append(slices.Clone(m.Next(b)), m.Rest()...)
}

// Text is like Bytes, for a string.
func (s *Set) Text(text string) string {
	if s == nil {
		return text
	}
	return string(s.Bytes([]byte(text)))
}

// Finder looks for values in what is written to it.
type Finder struct{ stream *Stream }

// Find starts a search.
func (s *Set) Find() *Finder { return &Finder{s.Stream()} }

var _ io.Writer = (*Finder)(nil)

// Write never fails.
func (f *Finder) Write(b []byte) (int, error) {
	if f.stream != nil && !f.stream.hit() {
		f.stream.Next(b)
	}
	return len(b), nil
}

// Found ends the search and reports whether it found a value.
func (f *Finder) Found() bool {
	if f.stream == nil {
		return false
	}
	if !f.stream.hit() {
		f.stream.Rest()
	}
	return f.stream.hit()
}
