package review

import (
	"fmt"
	"slices"
)

// Level is a level of proof. Each level includes the ones before, but for a repetition that nobody signed.
type Level string

const (
	Claimed  Level = "claimed"  // there is only the output notebook; its digests find accidents, and no forgery
	Recorded Level = "recorded" // the record of its run is here, verifies, and left these very bytes
	Signed   Level = "signed"   // a key that is trusted has signed it
	Repeated Level = "repeated" // it was run again, and the same came of it
)

// Levels lists them in ascending order.
var Levels = []Level{Claimed, Recorded, Signed, Repeated}

// both is what is required where signed and repeated are: neither includes the other.
const both Level = "signed and repeated"

func (l Level) rank() int {
	if l == both {
		return len(Levels)
	}
	return max(0, slices.Index(Levels, l))
}

// Max returns the demand that includes two others.
func (l Level) Max(other Level) Level {
	switch {
	case l == Signed && other == Repeated || l == Repeated && other == Signed:
		return both
	case other.rank() > l.rank():
		return other
	}
	return l
}

// ParseRequire reads what outputs must have: "current", and levels of proof, of which the highest counts.
func ParseRequire(words []string) (level Level, current bool, err error) {
	for _, word := range words {
		switch l := Level(word); {
		case word == string(Current):
			current = true
		case l.rank() > 0:
			level = level.Max(l)
		default:
			return "", false, fmt.Errorf("require %s is not known; known: current, recorded, signed, repeated", word)
		}
	}
	return level, current, nil
}

// Proof is the level of an output, and its basis.
type Proof struct {
	Level Level  `json:"level"`
	Run   string `json:"run,omitzero"` // id of the run whose record is here
	// Signed says that a trusted key has signed it, whatever the level is.
	Signed bool   `json:"signed,omitzero"`
	Words  string `json:"words,omitzero"` // by whom it is signed, or why it is no more than claimed
}

// Reaches reports whether a proof is what is required; "" asks for none. A repetition does not say who ran it, so
// signed asks for a signature at every level.
func (p *Proof) Reaches(want Level) bool {
	if (want == Signed || want == both) && !p.Signed {
		return false
	}
	return p.Level.rank() >= min(want.rank(), Repeated.rank())
}

// Summary describes a proof.
func (p *Proof) Summary() string {
	words := string(p.Level)
	if p.Run != "" {
		words += " (" + p.Run + ")"
	}
	if p.Words != "" {
		words += ": " + p.Words
	}
	return words
}

// prove determines the level of an output. An output that is not as its run left it proves nothing.
func (r *reviewer) prove(o *Output, b *book) {
	p := Proof{Level: Claimed}
	if r.in.Proof != nil && b.err == nil {
		p = r.in.Proof(o.Path, b.raw)
	}
	if p.Level.rank() > 0 && (o.Has(Altered) || o.Has(Damaged)) {
		p = Proof{Level: Claimed, Words: "it is not as its run left it"}
	}
	o.Proof = &p
}
