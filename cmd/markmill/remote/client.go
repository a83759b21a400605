package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
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
	Quiet  time.Duration // the longest wait for the next bytes of a file; 0 is a minute
	Pause  time.Duration // before the second try, and longer before later ones; 0 is half a second
	Tries  int           // 0 is four
	// Begin gets the first bytes of a file before the rest is read, and may refuse it; nil accepts all. Its errors are
	// returned as they are.
	Begin func(head []byte) error
}

// store is one kind of storage. It returns the errors of its library; words turns them into messages.
type store interface {
	// read opens the file. size is in bytes; less than 0 is unknown.
	read(ctx context.Context) (body io.ReadCloser, size int64, err error)
	// write writes the whole file, and replaces an existing one.
	write(ctx context.Context, data []byte, mediaType string) error
	// check returns an error when a write would certainly fail: the bucket does not exist, the host does not answer.
	check(ctx context.Context) error
	// answer is the answer of the service, if the error is one.
	answer(err error) (answer, bool)
	// credentials says in words which ones are used, and how to set others.
	credentials() (used, hint string)
}

// noCredentials is the prefix of what credentials returns when there are none.
const noCredentials = "no credentials: "

// answer is the refusal of a service.
type answer struct {
	status int    // of HTTP
	code   string // the service's own word
	text   string
}

// Read reads a file of at most so many bytes, and unpacks gzip. The error is a *notebooks.Error.
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
	if err := s.write(ctx, data, mediaType(text)); err != nil {
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

// unreachable is the error of an address that cannot be opened.
func unreachable(hint string, err error, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindInput, Hint: hint, Err: err,
		Msg: "cannot be reached: " + fmt.Sprintf(format, args...)}
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
