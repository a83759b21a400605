package serve

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// changesEvery is the least time between two notices that a page has changed.
const changesEvery = time.Second

// changes streams events that say only that the page has changed; the page then reloads itself. look returns a number
// that differs after each change, and whether no further change will come.
func (s *server) changes(w http.ResponseWriter, r *http.Request, look func() (state int64, ended bool)) {
	if s.watching.Add(1) > maxWatching {
		s.watching.Add(-1)
		http.Error(w, "too many pages follow something", http.StatusServiceUnavailable)
		return
	}
	defer s.watching.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	say := func(text string) error {
		if err := control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return control.Flush()
	}
	// What a browser that comes back has seen is the number of the last event.
	seen, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	known, last := err == nil, time.Now()
	ticker := time.NewTicker(changesEvery)
	defer ticker.Stop()
	for {
		state, ended := look()
		var text string
		switch {
		case ended:
			text = fmt.Sprintf("id: %d\nevent: end\ndata: {}\n\n", state)
		case !known || state == seen:
			if time.Since(last) > keepAlive {
				text = ": still here\n\n"
			}
		default:
			text = fmt.Sprintf("id: %d\nevent: change\ndata: {}\n\n", state)
		}
		if seen, known = state, true; text != "" {
			if last = time.Now(); say(text) != nil || ended {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
}
