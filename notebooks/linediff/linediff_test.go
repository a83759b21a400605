package linediff

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLinesApply: kept lines are equal and in order on both sides, and with the added lines they make the new text.
func TestLinesApply(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d", "{", "}"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(line).Draw(t, "a"), rapid.SliceOf(line).Draw(t, "b")
		gone, come := Lines(a, b)
		var kept, stayed []string
		for i, l := range a {
			if !gone[i] {
				kept = append(kept, l)
			}
		}
		for j, l := range b {
			if !come[j] {
				stayed = append(stayed, l)
			}
		}
		if !slices.Equal(kept, stayed) {
			t.Fatalf("%v stays of the old and %v of the new", kept, stayed)
		}
		var made []string
		at := 0
		for _, k := range Blocks(gone, come) {
			made = append(made, a[at:k.I0]...)
			made = append(made, b[k.J0:k.J1]...)
			at = k.I1
		}
		if made = append(made, a[at:]...); !slices.Equal(made, b) {
			t.Fatalf("the blocks make %v of %v, want %v", made, a, b)
		}
	})
}

// TestLinesAreFoundNearLinearly: unrelated, shuffled and repetitive texts take near linear time.
func TestLinesAreFoundNearLinearly(t *testing.T) {
	const n = 50_000
	few, shuffled, other := make([]string, n), make([]string, n), make([]string, n)
	numbered := make([]string, n)
	r := rand.New(rand.NewSource(1))
	for i := range n {
		numbered[i], other[i], few[i] = fmt.Sprint(i), fmt.Sprint("x", i), fmt.Sprint(r.Intn(20))
	}
	copy(shuffled, numbered)
	r.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	done := make(chan bool)
	go func() {
		for _, pair := range [][2][]string{{numbered, other}, {numbered, shuffled}, {few, numbered}, {few, few[n/3:]}} {
			Lines(pair[0], pair[1])
		}
		close(done)
	}()
	select {
	case <-done: // seconds at most; with all pairs it would be hours
	case <-time.After(5 * time.Minute):
		t.Fatal("not done after five minutes")
	}
}

// TestRising: the run rises, and no run is longer.
func TestRising(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "values")
		run := Rising(values)
		for k := 1; k < len(run); k++ {
			if run[k-1] >= run[k] || values[run[k-1]] >= values[run[k]] {
				t.Fatalf("%v of %v does not rise", run, values)
			}
		}
		longest, best := 0, make([]int, len(values))
		for i := range values {
			best[i] = 1
			for k := range i {
				if values[k] < values[i] {
					best[i] = max(best[i], best[k]+1)
				}
			}
			longest = max(longest, best[i])
		}
		if len(run) != longest {
			t.Fatalf("%v of %v is no longest run: %d", run, values, longest)
		}
	})
}
