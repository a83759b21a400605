package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"markmill/notebooks"
)

// gzipMagic begins a gzip file. No notebook begins with it.
var gzipMagic = []byte{0x1f, 0x8b}

// cutShort is the error of a file that ended too early.
type cutShort struct {
	got   int64 // bytes
	cause error
}

func (c cutShort) Error() string { return fmt.Sprintf("cut after %d bytes: %v", c.got, c.cause) }

func (c cutShort) Unwrap() error { return c.cause }

var (
	errTooLarge = errors.New("too large")
	errQuiet    = errors.New("nothing more came")
)

// readOnce tries once to read a file.
func (c Client) readOnce(ctx context.Context, s *service, text string, most int64) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, size, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	heard := &listener{Reader: body, quiet: c.quiet()}
	heard.timer = time.AfterFunc(heard.quiet, func() { cancel(errQuiet) })
	defer heard.timer.Stop()
	data, err := c.whole(heard, text, size, most)
	var own *notebooks.Error
	if err == nil || errors.As(err, &own) {
		return data, err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, cutShort{heard.got, err}
}

// listener is a reader that resets a timer whenever bytes arrive.
type listener struct {
	io.Reader
	timer *time.Timer
	quiet time.Duration
	got   int64
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if n > 0 {
		l.got += int64(n)
		l.timer.Reset(l.quiet)
	}
	return n, err
}

// whole reads everything; size may be unknown. It rejects a file that is too large or not a notebook early, without
// holding it in memory.
func (c Client) whole(r io.Reader, text string, size, most int64) ([]byte, error) {
	tooLarge := &notebooks.Error{Kind: notebooks.KindInput, File: Name(text), Err: errTooLarge,
		Msg: fmt.Sprintf("has more than %d bytes, the most that a notebook has", most)}
	if size > most {
		return nil, tooLarge
	}
	const first, block = 4096, 16 << 20
	head, err := io.ReadAll(io.LimitReader(r, min(first, most+1)))
	if err != nil {
		return nil, err
	}
	if int64(len(head)) > most {
		return nil, tooLarge
	}
	if c.Begin != nil && !bytes.HasPrefix(head, gzipMagic) {
		if err := c.Begin(head); err != nil {
			return nil, err
		}
	}
	if size >= int64(len(head)) {
		all := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
		all.Write(head)
		_, err := all.ReadFrom(io.LimitReader(r, most+1-int64(len(head))))
		if int64(all.Len()) > most {
			return nil, tooLarge
		}
		return all.Bytes(), err
	}
	// In blocks: a growing buffer ends up three times as large.
	blocks, got := [][]byte{head}, int64(len(head))
	for size := int64(64 << 10); ; size = min(2*size, block) {
		b := make([]byte, min(size, most+1-got))
		n, err := 0, error(nil)
		// io.ReadFull returns the same error for a file that ends and one that breaks off
		for n < len(b) && err == nil {
			var more int
			more, err = r.Read(b[n:])
			n += more
		}
		if got += int64(n); got > most {
			return nil, tooLarge
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if blocks = append(blocks, b[:n]); err != nil {
			return bytes.Join(blocks, nil), nil
		}
	}
}

// rest waits before the next try. It returns false if time runs out.
func (c Client) rest(ctx context.Context, try int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(c.pause() << min(try-1, 4)):
		return true
	}
}
