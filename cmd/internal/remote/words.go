package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"

	"markmill/notebooks"
)

// words turns an error into a message: what was expected, what happened, how to fix it, and no credentials.
func (c Client) words(ctx context.Context, s *service, text, done string, err error) error {
	var own *notebooks.Error
	if errors.As(err, &own) {
		return own
	}
	wrong := func(hint, format string, args ...any) error {
		return &notebooks.Error{Kind: notebooks.KindInput, File: Name(text), Hint: hint, Err: err,
			Msg: "cannot be " + done + ": " + fmt.Sprintf(format, args...)}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return wrong("try again, or copy the file yourself and give its local path", "it was not done within %s",
			c.limit())
	}
	if errors.Is(err, context.Canceled) {
		return wrong("", "interrupted")
	}
	var cut cutShort
	if errors.As(err, &cut) {
		return wrong("try again later", "it broke off after %d bytes, also after %d tries: %s",
			cut.got, c.tries(), plainCause(cut.cause))
	}
	got, answered := s.answer(err)
	if !answered {
		return wrong("check that the host is right and reachable from here (HTTPS_PROXY sets a proxy)", "%s",
			plainCause(err))
	}
	if got.status == http.StatusNotFound {
		err = fs.ErrNotExist
	}
	said := got.words()
	a := s.address
	switch {
	case got.status == http.StatusNotFound && (got.code == "NoSuchBucket" || got.code == "ContainerNotFound"):
		return wrong("check its spelling; a run does not create it", "there is no %s %q (%s)", a.holder(), a.bucket,
			said)
	case got.status == http.StatusNotFound && a.bucket != "":
		return wrong("check the spelling of "+a.holder()+" and name",
			"there is no %q in the %s %q (%s)", a.key, a.holder(), a.bucket, said)
	case got.status == http.StatusUnauthorized, got.status == http.StatusForbidden:
		return wrong(s.hint, "access is refused (%s) with %s", said, s.used)
	case got.status == http.StatusNotFound, got.status == http.StatusGone:
		return wrong("check the spelling of the address", "there is nothing (%s)", said)
	case got.status == http.StatusTooManyRequests, got.status >= 500:
		return wrong("try again later", "the service failed (%s), also after %d tries", said, c.tries())
	}
	return wrong("", "the service says: %s", said)
}

// holder is what the service calls a set of files.
func (a address) holder() string {
	if a.scheme == "az" || a.scheme == "abs" {
		return "container"
	}
	return "bucket"
}

// words returns the answer in one line.
func (a answer) words() string {
	words := fmt.Sprint(a.status)
	if a.code != "" {
		words += " " + a.code
	} else if text := http.StatusText(a.status); text != "" {
		words += " " + text
	}
	if a.text != "" && a.text != http.StatusText(a.status) {
		words += ": " + notebooks.Cut(strings.Join(strings.Fields(a.text), " "), 200)
	}
	return words
}

// plainCause is the innermost error of a request without an answer. Those around it contain the whole address.
func plainCause(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Sprintf("no such host: %s", dns.Name)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	for _, known := range []error{http.ErrHandlerTimeout, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err.Error()
}
