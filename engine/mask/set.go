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
type Set struct{ plain, wrapped *automaton }

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
	return &Set{newAutomaton(plain, false), newAutomaton(wrapped, true)}
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
	if f.stream != nil && !f.stream.holds() {
		f.stream.Next(b)
	}
	return len(b), nil
}

// Found ends the search and reports whether it found a value.
func (f *Finder) Found() bool {
	if f.stream == nil {
		return false
	}
	if !f.stream.holds() {
		f.stream.Rest()
	}
	return f.stream.holds()
}
