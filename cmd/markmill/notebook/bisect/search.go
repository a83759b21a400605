package bisect

import "math"

// search is the state of a bisection over a history: what is known of each commit. It halves over ancestry, as git
// bisect does: the next commit is one whose answer leaves as few suspects as possible, whichever it is.
type search struct {
	parents [][]int   // of each commit, by index; parents stand before their children
	answers []Verdict // "" is unknown; the last commit is bad
	bad     int       // whose ancestors all bad commits to be found are
}

// newSearch begins with the last commit known to be bad.
func newSearch(parents [][]int) *search {
	s := &search{parents: parents, answers: make([]Verdict, len(parents)), bad: len(parents) - 1}
	s.answers[s.bad] = Bad
	return s
}

// answer takes what is known of a commit.
func (s *search) answer(commit int, v Verdict) {
	s.answers[commit] = v
	if v == Bad {
		s.bad = commit
	}
}

// reach marks what some commits reach, themselves included. A commit's parents come before it, so one pass is enough.
func (s *search) reach(from func(commit int) bool) []bool {
	reached := make([]bool, len(s.parents))
	for c := len(s.parents) - 1; c >= 0; c-- {
		if reached[c] = reached[c] || from(c); reached[c] {
			for _, p := range s.parents[c] {
				reached[p] = true
			}
		}
	}
	return reached
}

// suspects are the commits that may be the first bad one, parents first. The last is bad.
func (s *search) suspects() (list []int) {
	below := s.reach(func(c int) bool { return c == s.bad })
	fine := s.reach(func(c int) bool { return s.answers[c] == Good })
	for c := range s.bad + 1 {
		if below[c] && !fine[c] {
			list = append(list, c)
		}
	}
	return list
}

// next returns the commit to be tested, and false if none is left: then the first bad commit is found, or it is one of
// several suspects of which the others were skipped.
func (s *search) next() (commit int, ok bool) {
	list := s.suspects()
	order := s.ranked(list)
	if len(order) == 0 {
		return 0, false
	}
	var open []int
	for _, c := range order {
		if s.answers[c] == "" {
			open = append(open, c)
		}
	}
	switch {
	case len(open) == 0:
		return 0, false
	case open[0] == order[0]:
		return open[0], true
	}
	// The best one was skipped, and its neighbors often cannot be tested either. git bisect leaves them with
	// pseudo-random steps that favor good ones (skip_away of its bisect.c).
	const modulo = 32768
	random := (uint32(len(open))*1103515245 + 12345) / 65536 % modulo
	at := float64(len(open)) * float64(random) / modulo * math.Sqrt(float64(random)/modulo)
	return open[int(at)], true
}

// ranked sorts the suspects without the bad one: first those that have about half of all suspects behind them. Of equal
// ones the oldest is first.
func (s *search) ranked(list []int) []int {
	weights := s.weights(list)
	byDistance := make([][]int, len(list)/2+1)
	for _, c := range list[:max(len(list)-1, 0)] {
		d := min(weights[c], len(list)-weights[c])
		byDistance[d] = append(byDistance[d], c)
	}
	var order []int
	for d := len(byDistance) - 1; d >= 0; d-- {
		order = append(order, byDistance[d]...)
	}
	return order
}

// weights counts for each suspect how many suspects it reaches, itself included; it is 0 for other commits. Along a
// line each has one more than its parent; only for merges the history is walked.
func (s *search) weights(list []int) []int {
	weights, seen := make([]int, len(s.parents)), make([]int, len(s.parents)) // seen: the last merge that reached it
	var todo []int
	for _, c := range list {
		todo = todo[:0]
		for _, p := range s.parents[c] {
			if weights[p] > 0 {
				todo = append(todo, p)
			}
		}
		weights[c] = 1
		if len(todo) == 1 {
			weights[c] += weights[todo[0]]
			continue
		}
		for len(todo) > 0 {
			p := todo[len(todo)-1]
			if todo = todo[:len(todo)-1]; weights[p] > 0 && p != c && seen[p] != c {
				seen[p] = c
				weights[c]++
				todo = append(todo, s.parents[p]...)
			}
		}
	}
	return weights
}
