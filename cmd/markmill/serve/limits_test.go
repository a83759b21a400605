package serve

import (
	"fmt"
	"testing"
)

// TestLimits: wrong tokens are counted by place, and however many places there are, little is remembered.
func TestLimits(t *testing.T) {
	var l limits
	for n := range missFirst {
		if !l.mayTry("a") {
			t.Fatalf("try %d is refused", n)
		}
		l.missed("a")
	}
	if l.mayTry("a") || !l.mayTry("b") {
		t.Error("another place is refused, or this one is not")
	}
	for n := range maxPlaces * 2 {
		l.missed(fmt.Sprint(n))
	}
	if len(l.places) > maxPlaces {
		t.Errorf("%d places are remembered", len(l.places))
	}
	if l.mayTry("a") || l.mayTry("new") {
		t.Error("who guesses from many places is not refused")
	}
}
