package remote

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"markmill/notebooks"
)

// Client reads and writes at addresses.
type Client struct {
	Getenv func(string) (string, bool)
	Home   string        // where credential files are: .aws, .config/gcloud
	Limit  time.Duration // for one read or write, including retries; 0 is ten minutes
	Quiet  time.Duration // the longest wait for the next bytes of a file; 0 is a minute
	Pause  time.Duration // before the second try, and longer before later ones; 0 is half a second
	Tries  int           // 0 is four
	Raw    bool          // what is read is not unpacked
	// Begin gets the first bytes of a file before the rest is read and may reject it; nil accepts everything. Its
	// errors are returned unchanged.
	Begin func(head []byte) error
}

// Read reads a file of no more than most bytes and unpacks gzip. The error is a *notebooks.Error.
func (c Client) Read(ctx context.Context, text string, most int64) ([]byte, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	s, err := c.open(ctx, text)
	if err != nil {
		return nil, err
	}
	var data []byte
	for try := 1; ; try++ {
		if data, err = c.readOnce(ctx, s, text, most); err == nil {
			break
		}
		if !errors.As(err, new(cutShort)) || try == c.tries() || !c.rest(ctx, try) {
			return nil, c.words(ctx, s, text, "read", err)
		}
	}
	if !c.Raw && bytes.HasPrefix(data, gzipMagic) {
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = c.whole(unpacked, text, -1, most)
		}
		var own *notebooks.Error
		if err != nil && !errors.As(err, &own) {
			err = &notebooks.Error{Kind: notebooks.KindInput, File: Name(text), Err: err,
				Msg: "is compressed with gzip, and cannot be unpacked: " + err.Error()}
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Write writes a whole file.
func (c Client) Write(ctx context.Context, text string, data []byte) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	s, err := c.open(ctx, text)
	if err != nil {
		return err
	}
	if err := s.ask(ctx, task{write, data, mediaType(text)}); err != nil {
		return c.words(ctx, s, text, "written", err)
	}
	return nil
}

// Check returns an error when a later Write would certainly fail.
func (c Client) Check(ctx context.Context, text string) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	s, err := c.open(ctx, text)
	if err != nil {
		return err
	}
	err = s.ask(ctx, task{verb: check})
	got, answered := s.answer(err)
	if got.status == http.StatusNotFound && got.code == "" { // a HEAD response has no body to say so
		err = status{answer: answer{status: got.status, code: "NoSuchBucket"}}
	}
	switch {
	case !answered, got.status == http.StatusNotFound, got.status == http.StatusUnauthorized:
	case got.status == http.StatusForbidden && strings.HasPrefix(s.used, noCredentials):
	default:
		return nil // permission to write a file does not imply access to its bucket
	}
	if err != nil {
		return c.words(ctx, s, text, "written", err)
	}
	return nil
}

func (c Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.limit())
}

func (c Client) limit() time.Duration { return cmp.Or(c.Limit, 10*time.Minute) }

func (c Client) quiet() time.Duration { return cmp.Or(c.Quiet, time.Minute) }

func (c Client) pause() time.Duration { return cmp.Or(c.Pause, 500*time.Millisecond) }

func (c Client) tries() int { return cmp.Or(c.Tries, 4) }

// unreachable returns the error for an address that cannot be opened.
func unreachable(hint string, err error, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, Hint: hint, Err: err,
		Msg: "cannot be reached: " + fmt.Sprintf(format, args...)}
}

func (c Client) env(name string) string {
	v, _ := c.Getenv(name)
	return v
}

func (c Client) open(ctx context.Context, text string) (*service, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	var s *service
	switch a.scheme {
	case "s3":
		s, err = c.openS3(a)
	case "gs":
		s, err = c.openGoogle(ctx, a)
	case "az", "abs":
		s, err = c.openAzure(a)
	default:
		s = c.openWeb(a)
	}
	if err != nil {
		var own *notebooks.Error
		if !errors.As(err, &own) {
			errors.As(unreachable("", err, "%s", plainCause(err)), &own)
		}
		own.File = Name(text)
		return nil, own
	}
	return s, nil
}

// mediaType is the media type of a file, by its name.
func mediaType(text string) string {
	switch form := notebooks.FormOfName(Name(text)); {
	case form == notebooks.FormJupyter:
		return "application/x-ipynb+json"
	case form.Markdown():
		return "text/markdown; charset=utf-8"
	}
	for _, t := range [][2]string{{".json", "application/json"}, {".png", "image/png"}, {".jpg", "image/jpeg"},
		{".jpeg", "image/jpeg"}, {".svg", "image/svg+xml"}, {".html", "text/html; charset=utf-8"}} {
		if t[0] == strings.ToLower(path.Ext(Name(text))) {
			return t[1]
		}
	}
	return "application/octet-stream"
}
