package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"markmill/notebooks"
)

// Client reads and writes at addresses.
type Client struct {
	Getenv func(string) (string, bool)
	Home   string        // where the files of credentials are: .aws, .config/gcloud
	Limit  time.Duration // of one read or write, with all its tries; 0 is ten minutes
	Quiet  time.Duration // how long nothing may come of a file that is read; 0 is a minute
	Pause  time.Duration // before the second try, and more before later ones; 0 is half a second
	Tries  int           // 0 is four
	// Begin is told how a file begins before the rest is read, and may refuse it; nil takes all. Its errors are given
	// as they are.
	Begin func(head []byte) error
}

// store is one kind of storage. Its errors are what its library gives; words makes them fit to be read.
type store interface {
	// read opens the file, and says how many bytes it has; less than 0 is unknown.
	read(ctx context.Context) (body io.ReadCloser, size int64, err error)
	// write puts the whole file, in the place of one that is there.
	write(ctx context.Context, data []byte, mediaType string) error
	// check says what would surely fail a write, before there is anything to write: a bucket that is not there, a host
	// that does not answer.
	check(ctx context.Context) error
	// answer is what the service said, if the error is its answer.
	answer(err error) (answer, bool)
	// credentials says in words which are used, and what to do to have others.
	credentials() (used, hint string)
}

// noCredentials begins what credentials says where there are none.
const noCredentials = "no credentials: "

// answer is what a service says when it refuses.
type answer struct {
	status int    // of HTTP
	code   string // the service's own word
	text   string
}

// Read reads a file of at most so many bytes. One that is compressed with gzip is unpacked. The error is an *Error of
// notebooks.
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
	if bytes.HasPrefix(data, gzipMagic) {
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = c.whole(unpacked, text, -1, most)
		}
		var own *notebooks.Error
		if err != nil && !errors.As(err, &own) {
			err = &notebooks.Error{Kind: notebooks.KindInput, File: Name(text), Msg: "is compressed with gzip, and cannot be unpacked: " + err.Error(), Err: err}
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Write writes a file whole.
func (c Client) Write(ctx context.Context, text string, data []byte) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	s, err := c.open(ctx, text)
	if err != nil {
		return err
	}
	if err := s.write(ctx, data, mediaType(text)); err != nil {
		return c.words(ctx, s, text, "written", err)
	}
	return nil
}

// Check says what would surely fail a later Write.
func (c Client) Check(ctx context.Context, text string) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	s, err := c.open(ctx, text)
	if err != nil {
		return err
	}
	err = s.check(ctx)
	got, answered := s.answer(err)
	used, _ := s.credentials()
	switch {
	case !answered, got.status == http.StatusNotFound, got.status == http.StatusUnauthorized:
	case got.status == http.StatusForbidden && strings.HasPrefix(used, noCredentials):
	default:
		return nil // who may write a file need not be allowed to look at its bucket
	}
	if err != nil {
		return c.words(ctx, s, text, "written", err)
	}
	return nil
}

func (c Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.limit())
}

func (c Client) limit() time.Duration {
	if c.Limit > 0 {
		return c.Limit
	}
	return 10 * time.Minute
}

func (c Client) pause() time.Duration {
	if c.Pause > 0 {
		return c.Pause
	}
	return 500 * time.Millisecond
}

func (c Client) tries() int {
	if c.Tries > 0 {
		return c.Tries
	}
	return 4
}

func (c Client) env(name string) string {
	v, _ := c.Getenv(name)
	return v
}

func (c Client) open(ctx context.Context, text string) (store, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	var s store
	switch a.scheme {
	case "s3":
		s, err = c.openS3(ctx, a)
	case "gs":
		s, err = c.openGoogle(ctx, a)
	case "az", "abs":
		s, err = c.openAzure(a)
	default:
		s = c.openWeb(a)
	}
	if err != nil {
		var own *notebooks.Error
		if errors.As(err, &own) {
			own.File = Name(text)
			return nil, own
		}
		return nil, &notebooks.Error{Kind: notebooks.KindInput, File: Name(text), Msg: "cannot be reached: " + plainCause(err), Err: err}
	}
	return s, nil
}

// mediaType is what a file is by its name.
func mediaType(text string) string {
	switch form := notebooks.FormOfName(Name(text)); {
	case form == notebooks.FormJupyter:
		return "application/x-ipynb+json"
	case form.Markdown():
		return "text/markdown; charset=utf-8"
	}
	switch strings.ToLower(path.Ext(Name(text))) {
	case ".json":
		return "application/json"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".svg":
		return "image/svg+xml"
	case ".html":
		return "text/html; charset=utf-8"
	}
	return "application/octet-stream"
}
