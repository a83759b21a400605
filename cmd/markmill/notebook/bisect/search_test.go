package bisect

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// drawHistory is a history with merges. All commits are ancestors of the last one, or are not looked at.
func drawHistory(t *rapid.T, most int) [][]int {
	parents := make([][]int, rapid.IntRange(1, most).Draw(t, "commits"))
	for c := 1; c < len(parents); c++ {
		parents[c] = []int{c - 1}
		if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			parents[c] = rapid.SliceOfNDistinct(rapid.IntRange(0, c-1), 1, min(c, 3), rapid.ID[int]).Draw(t, "parents")
		}
	}
	return parents
}

// find searches for a commit, from which on all are bad, and returns what is left and how many were tested.
func find(t interface {
	Fatalf(string, ...any)
}, parents [][]int, culprit int, skipped func(int) bool) (left []int, tests int) {
	s := newSearch(parents)
	bad := make([]bool, len(parents))
	for c := range parents {
		bad[c] = c == culprit
		for _, p := range parents[c] {
			bad[c] = bad[c] || bad[p]
		}
	}
	for {
		c, ok := s.next()
		if !ok {
			return s.suspects(), tests
		}
		if s.answers[c] != "" || tests > len(parents) {
			t.Fatalf("commit %d is tested again, as test %d", c, tests)
		}
		tests++
		switch {
		case skipped(c):
			s.answer(c, Skipped)
		case bad[c]:
			s.answer(c, Bad)
		default:
			s.answer(c, Good)
		}
	}
}

// The first bad commit is found in every history; where commits cannot be tested it is among what is left, and all
// others of that but the last one cannot be tested.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parents := drawHistory(t, 60)
		all := newSearch(parents).suspects() // what the last commit reaches
		culprit := rapid.SampledFrom(all).Draw(t, "culprit")
		untestable := map[int]bool{}
		for _, c := range rapid.SliceOf(rapid.IntRange(0, len(parents)-1)).Draw(t, "untestable") {
			untestable[c] = c != len(parents)-1
		}
		left, _ := find(t, parents, culprit, func(c int) bool { return untestable[c] })
		found := false
		for i, c := range left {
			found = found || c == culprit
			if i < len(left)-1 && !untestable[c] {
				t.Fatalf("%d is left, and can be tested: %v", c, left)
			}
		}
		if !found {
			t.Fatalf("%d is not among %v", culprit, left)
		}
		if len(untestable) == 0 && len(left) != 1 {
			t.Fatalf("%v are left", left)
		}
	})
}

// Along a line, no search takes more tests than halving does.
func TestSearchHalves(t *testing.T) {
	for n := 1; n < 70; n++ {
		parents := make([][]int, n)
		for c := 1; c < n; c++ {
			parents[c] = []int{c - 1}
		}
		for culprit := range n {
			left, tests := find(t, parents, culprit, func(int) bool { return false })
			if len(left) != 1 || left[0] != culprit || tests > bits.Len(uint(n-1)) {
				t.Fatalf("of %d commits, %d: %v is left after %d tests", n, culprit, left, tests)
			}
		}
	}
}

// A merge is weighed by what it reaches: two long branches, of which one is excluded by the first test.
func TestSearchMerges(t *testing.T) {
	parents := [][]int{nil}
	for range 2 {
		for i := range 20 {
			before := []int{len(parents) - 1}
			if i == 0 {
				before = []int{0}
			}
			parents = append(parents, before)
		}
	}
	parents = append(parents, []int{20, 40})
	s := newSearch(parents)
	if first, _ := s.next(); first != 20 && first != 40 {
		t.Errorf("the first test is of %d, and not of the end of a branch", first)
	}
	if w := s.weights(s.suspects()); w[41] != 42 || w[20] != 21 || w[40] != 21 {
		t.Errorf("weights: %v", w)
	}
	if left, tests := find(t, parents, 41, func(int) bool { return false }); len(left) != 1 || left[0] != 41 ||
		tests > 6 {
		t.Errorf("%v is left after %d tests", left, tests)
	}
}
