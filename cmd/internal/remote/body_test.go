package remote

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"markmill/notebooks"
)

// part sends the first bytes of a longer file, then closes the connection or goes silent.
func part(text, size string, quiet bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if size != "" {
			w.Header().Set("Content-Length", size)
		}
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		if quiet {
			<-r.Context().Done()
		}
	}
}

// A truncated or stalled download is retried.
func TestReadAgain(t *testing.T) {
	c := client(t)
	c.Quiet = 500 * time.Millisecond // data arrives sooner, even on a busy machine
	for name, broken := range map[string]http.HandlerFunc{"ends": part("he", "5", false),
		"stops":                  part("he", "5", true),
		"stops without a length": part("he", "", true)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, seen := script(t, broken, says(503, ""), broken, says(200, "hello"))
			if got, err := c.Read(t.Context(), s.URL+"/n.md", 5); err != nil || string(got) != "hello" ||
				len(*seen) != 4 {
				t.Errorf("%q, %v after %d requests", got, err, len(*seen))
			}
		})
	}
	s, seen := script(t, part("he", "5", true))
	_, err := c.Read(t.Context(), s.URL+"/n.md?sig=hush", 5)
	wants(t, err, s.URL+
		"/n.md: cannot be read: it broke off after 2 bytes, also after 4 tries: nothing more came; try again later")
	if len(*seen) != 4 {
		t.Errorf("%d requests", len(*seen))
	}
	s, _ = script(t, says(200, string(zipped("hello")[:12])))
	_, err = c.Read(t.Context(), s.URL+"/n.md", 50)
	wants(t, err, "is compressed with gzip, and cannot be unpacked: unexpected EOF")
}

// A file that is too large or does not begin like a notebook is rejected before the rest arrives.
func TestRefusedEarly(t *testing.T) {
	c := client(t)
	s, seen := script(t, part("he", "6", true))
	_, err := c.Read(t.Context(), s.URL+"/n.md", 5)
	wants(t, err, "has more than 5 bytes")
	c.Begin = func(head []byte) error {
		if head[0] == '{' {
			return nil
		}
		return &notebooks.Error{Msg: "begins so: " + string(head[:3])}
	}
	s, _ = script(t, part(string(bytes.Repeat([]byte("no "), 5000)), "", true))
	_, err = c.Read(t.Context(), s.URL+"/n.ipynb", 1<<30)
	wants(t, err, "begins so: no ")
	if len(*seen) != 1 {
		t.Errorf("%d requests", len(*seen))
	}
	s, _ = script(t, says(200, "{}"))
	if got, err := c.Read(t.Context(), s.URL+"/n.ipynb", 1<<30); err != nil || string(got) != "{}" {
		t.Errorf("%q, %v", got, err)
	}
}

// Every byte of a file arrives, however many blocks it has, whether or not its size is known.
func TestWhole(t *testing.T) {
	text := make([]byte, 40<<20)
	for i := range text {
		text[i] = byte(i / 251)
	}
	for _, size := range []int64{-1, int64(len(text))} {
		for most, whole := range map[int64]bool{int64(len(text)): true, int64(len(text)) - 1: false, 1: false} {
			got, err := Client{}.whole(bytes.NewReader(text), "x.md", size, most)
			if whole && !bytes.Equal(got, text) || errors.Is(err, errTooLarge) == whole {
				t.Errorf("size %d of at most %d: %d bytes, %v", size, most, len(got), err)
			}
		}
	}
	torn := io.MultiReader(bytes.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := (Client{}).whole(torn, "x.md", -1, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := (Client{}).whole(bytes.NewReader(nil), "x.md", -1, 5); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// A signature in an address is for that address: the target of a redirect does not get it.
func TestRedirectTellsNothing(t *testing.T) {
	s, seen := script(t, func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/there", http.StatusFound)
	}, says(200, "moved"))
	if _, err := client(t).Read(t.Context(), s.URL+"/n.md?sig=hush", 5); err != nil {
		t.Fatal(err)
	}
	if from := (*seen)[1].Header.Get("Referer"); from != "" {
		t.Errorf("it is told %q", from)
	}
}
