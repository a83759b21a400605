package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHomeIsCut: Home shows so many notebooks, and leads to the others.
func TestHomeIsCut(t *testing.T) {
	for most, want := range map[int][]string{1: {"a.md", "2 more notebooks"}, 2: {"a.md", "b.md", "1 more notebook<"},
		3: {"a.md", "b.md", "c.md"}, 4: {"a.md", "b.md", "c.md"}} {
		rows := []homeRow{{Notebook: "a.md", Needs: "failed"}, {Notebook: "b.md"}, {Notebook: "c.md"}}
		body := &homeBody{Rows: rows, All: 3}
		body.cut(most)
		w := httptest.NewRecorder()
		show(w, 200, "home", &frame{Session: &session{}, Body: body})
		page := w.Body.String()
		for _, words := range []string{"a.md", "b.md", "c.md", "1 more notebook<", "2 more notebooks"} {
			if strings.Contains(page, words) != slices.Contains(want, words) {
				t.Errorf("of at most %d notebooks, %q is there or missing:\n%s", most, words, page)
			}
		}
	}
}

// TestCatchUpOnce: what is outdated is not run again while it is being run.
func TestCatchUpOnce(t *testing.T) {
	s := &server{}
	s.updating.begin()
	r := httptest.NewRequest(http.MethodPost, "/outdated", nil)
	err := s.catchUp(httptest.NewRecorder(), r)
	if no, is := errors.AsType[*refusal](err); !is || no.status != http.StatusConflict ||
		!strings.Contains(no.words, "already") {
		t.Errorf("it ends with %v", err)
	}
}

// A fault in what is found in the background does not end the workbench.
func TestBackgroundFault(t *testing.T) {
	var b background[int]
	_, _, err := b.get(0, time.Minute, func(context.Context) (int, error) { panic("no repository") })
	if err == nil || !strings.Contains(err.Error(), "no repository") {
		t.Error(err)
	}
}
