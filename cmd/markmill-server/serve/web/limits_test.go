package web

import (
	"fmt"
	"testing"
	"time"
)

// TestLimits: wrong tokens are counted by limiter, and however many sources there are, little is remembered.
func TestLimits(t *testing.T) {
	var l limits
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range missFirst {
		if !l.missed("a", now) {
			t.Fatalf("try %d is refused", n)
		}
	}
	if l.missed("a", now) || !l.missed("b", now) {
		t.Error("another limiter is refused, or this one is not")
	}
	if now = now.Add(missEvery); !l.missed("a", now) {
		t.Error("a limiter is refused for ever")
	}
	for n := range maxSources * 2 {
		l.missed(fmt.Sprint(n), now)
	}
	if len(l.sources) > maxSources {
		t.Errorf("%d sources are remembered", len(l.sources))
	}
	if l.missed("a", now) || l.missed("new", now) {
		t.Error("who guesses from many sources is not refused")
	}
	now = now.Add(missFirst * missEvery)
	l.missed("new", now)
	if len(l.sources) != 1 {
		t.Errorf("%d sources are remembered when nobody guesses any more", len(l.sources))
	}
}
