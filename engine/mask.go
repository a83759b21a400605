package engine

import (
	"bytes"
	"sort"

	"markmill/notebooks"
)

// masked is what stands where a secret was printed.
const masked = "***"

// masker replaces the values of secrets in a stream, also where a value is split over two writes.
type masker struct {
	secrets [][]byte // longest first
	longest int
	held    []byte // the end of the last write, which may be the beginning of a secret
}

// newMasker is nil when there is nothing to mask.
func newMasker(secrets []string) *masker {
	m := &masker{}
	for _, s := range secrets {
		if s != "" {
			m.secrets = append(m.secrets, []byte(s))
		}
	}
	if len(m.secrets) == 0 {
		return nil
	}
	sort.Slice(m.secrets, func(i, j int) bool { return len(m.secrets[i]) > len(m.secrets[j]) })
	m.longest = len(m.secrets[0])
	return m
}

// next takes a chunk and returns what is sure not to be part of a secret any more. It keeps back
// the longest end of the stream that a secret begins with.
func (m *masker) next(b []byte) []byte {
	all := m.replace(append(m.held, b...))
	keep := 0
	for _, s := range m.secrets {
		for n := min(len(s)-1, len(all)); n > keep; n-- {
			if bytes.HasSuffix(all, s[:n]) {
				keep = n
				break
			}
		}
	}
	m.held = bytes.Clone(all[len(all)-keep:])
	return all[:len(all)-keep]
}

func (m *masker) rest() []byte {
	out := m.held
	m.held = nil
	return out
}

func (m *masker) replace(b []byte) []byte {
	for _, s := range m.secrets {
		b = bytes.ReplaceAll(b, s, []byte(masked))
	}
	return b
}

// secrets are the values that must not be shown: parameters of type secret, and the environment
// variables that the notebook names as secrets.
func (p *Plan) secrets(getenv func(string) (string, bool)) []string {
	var out []string
	for _, b := range p.Bound {
		if b.Value.Type == notebooks.TypeSecret {
			out = append(out, b.Value.Reveal())
		}
	}
	for _, name := range p.Notebook.Front.Secrets {
		if v, ok := getenv(name); ok {
			out = append(out, v)
		}
	}
	return out
}
