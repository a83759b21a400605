package diff

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// How similar two texts must be for one to have become the other.
const (
	nearEnough = 0.3 // between the same neighbours, or under one id
	farEnough  = 0.5 // anywhere
)

const (
	maxFeatures = 1024 // of a text: of a larger one the least hashes, which are a fair sample of it
	maxPostings = 16   // cells that share a feature: a more frequent one is no evidence
	minFeatures = 6    // of a text that is looked for anywhere: a shorter one is found by chance
	maxGap      = 400  // comparisons in one gap: in a larger one only those of about the same place
	candidates  = 4    // of a cell, out of the index
)

// features are hashes of the words of a text, and of the pairs of words that follow each other, sorted, each once.
// Signs count in a text without a word only: all code has them.
// nil is not known yet.
type features []uint64

// The constants of FNV-1a, 64 bits.
const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

func featuresOf(text string) features {
	out := features{}
	last := uint64(0)
	word := func(w string) {
		h := uint64(fnvStart)
		for i := 0; i < len(w); i++ {
			h = (h ^ uint64(w[i])) * fnvPrime
		}
		h = mix(h)
		out = append(out, h)
		if last != 0 {
			out = append(out, mix(last*fnvPrime^h))
		}
		last = h
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !inWord(r) }) {
		word(w)
	}
	if len(out) == 0 {
		for _, sign := range strings.Fields(text) {
			word(sign)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.Clip(out[:min(len(out), maxFeatures)])
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// mix spreads a hash over all bits (the finish of MurmurHash3), so that the least hashes are a random sample.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// similarityOf is Dice's coefficient of two sets of features; of samples, an estimate of it.
func similarityOf(x, y features) float64 {
	if len(x) == 0 || len(y) == 0 {
		if len(x) == len(y) {
			return 1
		}
		return 0
	}
	whole := math.MaxInt
	if len(x) == maxFeatures || len(y) == maxFeatures { // a sample says nothing of what lies above its end
		whole = maxFeatures
	}
	shared, seen := 0, 0
	for i, j := 0, 0; (i < len(x) || j < len(y)) && seen < whole; seen++ {
		switch {
		case j == len(y) || i < len(x) && x[i] < y[j]:
			i++
		case i == len(x) || y[j] < x[i]:
			j++
		default:
			shared++
			i, j = i+1, j+1
		}
	}
	jaccard := float64(shared) / float64(seen)
	return 2 * jaccard / (1 + jaccard)
}

func (m *matching) featuresA(i int) features { return featuresIn(m.features[0], m.a, i) }
func (m *matching) featuresB(j int) features { return featuresIn(m.features[1], m.b, j) }

func featuresIn(kept []features, cells []Cell, i int) features {
	if kept[i] == nil {
		kept[i] = featuresOf(cells[i].Source)
	}
	return kept[i]
}

// similarity of a cell of a and one of b.
func (m *matching) similarity(i, j int) float64 {
	if m.a[i].Source == m.b[j].Source {
		return 1
	}
	return similarityOf(m.featuresA(i), m.featuresB(j))
}

// candidate is a pair that may be.
type candidate struct {
	i, j  int
	score float64
	off   int // how far from its place in the gap
}

// similarText pairs what is left by its likeness, the most alike first.
func (m *matching) similarText() {
	list := m.inGaps()
	list = append(list, m.indexed()...)
	slices.SortFunc(list, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.off, y.off),
			cmp.Compare(x.i, y.i), cmp.Compare(x.j, y.j))
	})
	for _, c := range list {
		if m.free(c.i, c.j) {
			m.pair(c.i, c.j, ByLikeness)
		}
	}
}

// gap is the cells without a partner between two pairs that stayed.
type gap struct{ a, b []int }

func (m *matching) gaps() []gap {
	kept := m.inOrder()
	var out []gap
	var g gap
	j := 0
	flush := func(until int) {
		for ; j < until; j++ {
			if m.toA[j] < 0 {
				g.b = append(g.b, j)
			}
		}
		if len(g.a) > 0 && len(g.b) > 0 {
			out = append(out, g)
		}
		g = gap{}
	}
	for i := range m.a {
		if kept[i] {
			flush(m.toB[i])
		} else if m.toB[i] < 0 {
			g.a = append(g.a, i)
		}
	}
	flush(len(m.b))
	return out
}

// nearby is what a pair between the same neighbours counts more than one elsewhere.
const nearby = 0.15

func (m *matching) inGaps() []candidate {
	var out []candidate
	for _, g := range m.gaps() {
		reach := len(g.b)
		if len(g.a)*len(g.b) > maxGap {
			reach = 4
		}
		for x, i := range g.a {
			at := x * len(g.b) / len(g.a)
			for y := max(0, at-reach); y < min(len(g.b), at+reach+1); y++ {
				j := g.b[y]
				if !alike(&m.a[i], &m.b[j]) {
					continue
				}
				if s := m.similarity(i, j); s >= nearEnough {
					out = append(out, candidate{i, j, s + nearby, abs(y - at)})
				}
			}
		}
	}
	return out
}

func abs(n int) int { return max(n, -n) }

// indexed finds the cells of b that share rare features with a cell of a.
func (m *matching) indexed() []candidate {
	postings := map[uint64][]int32{}
	for j := range m.b {
		if m.toA[j] >= 0 || len(m.featuresB(j)) < minFeatures {
			continue
		}
		for _, h := range m.featuresB(j) {
			if list := postings[h]; len(list) <= maxPostings {
				postings[h] = append(list, int32(j))
			}
		}
	}
	if len(postings) == 0 {
		return nil
	}
	var out []candidate
	shared := map[int32]int{}
	for i := range m.a {
		if m.toB[i] >= 0 || len(m.featuresA(i)) < minFeatures {
			continue
		}
		clear(shared)
		for _, h := range m.featuresA(i) {
			if list := postings[h]; len(list) <= maxPostings {
				for _, j := range list {
					shared[j]++
				}
			}
		}
		best := make([]candidate, 0, len(shared))
		for j, n := range shared {
			if alike(&m.a[i], &m.b[j]) {
				best = append(best, candidate{i, int(j), float64(n), 0})
			}
		}
		slices.SortFunc(best, func(x, y candidate) int {
			return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.j, y.j))
		})
		for _, c := range best[:min(len(best), candidates)] {
			if c.score = m.similarity(c.i, c.j); c.score >= farEnough {
				c.off = abs(c.i - c.j)
				out = append(out, c)
			}
		}
	}
	return out
}
