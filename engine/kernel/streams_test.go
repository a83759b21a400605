//go:build unix

package kernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"testing"
)

func TestConformanceStreamsAreWholeAndInOrder(t *testing.T) {
	each(t, "both", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		for range map[bool]int{false: 10, true: 100}[thorough] {
			if got := h.run(d.step("both")); got.stdout != "o1\no2\n" || got.stderr != "e1\ne2\n" {
				t.Fatalf("stdout %q stderr %q", got.stdout, got.stderr)
			}
		}
		h.ok(d.say("no newline"), "no newline")
		if d.step("bytes") != "" {
			h.ok(d.step("bytes"), "\xff\x00\xfe")
		}
		h.ok("", "")
		h.ok("\n", "")
	})
}

// A step's output may contain the driver's protocol words.
func TestConformanceWordsOfTheDriverInOutputMeanNothing(t *testing.T) {
	each(t, "say", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		const words = "1 0 0\n2 0 0\n3 0 0\nhello 1 1\nover\n__mm_whole=1\n\x1b7"
		h.ok(d.say(words), words)
		h.ok(d.say("next"), "next")
	})
}

// counter checks a stream of one repeated byte without keeping it.
type counter struct {
	sum hash.Hash
	n   int64
}

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return c.sum.Write(p) }

func TestConformanceBigOutput(t *testing.T) {
	size := int64(8 << 20)
	if thorough {
		size *= 8
	}
	want := sha256.Sum256(bytes.Repeat([]byte("x"), int(size)))
	each(t, "big", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		code := d.fill("big", "bytes", fmt.Sprint(size))
		c := &counter{sum: sha256.New()}
		out, err := h.Run(context.Background(),
			Request{Code: []byte(code), File: "task.md", Line: 1, Stdout: c, Stderr: &bytes.Buffer{}})
		if err != nil || out.Exit != 0 || c.n != size || !bytes.Equal(c.sum.Sum(nil), want[:]) {
			t.Fatalf("%+v %v, %d bytes", out, err, c.n)
		}
	})
}

func TestConformanceStdinIsEmpty(t *testing.T) {
	each(t, "stdin", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.ok(d.step("stdin"), "eof\n")
	})
}

func TestConformanceClosedDescriptors(t *testing.T) {
	each(t, "closes", func(t *testing.T, d dialect) {
		h := start(t, d.kernel)
		h.run(d.step("closes"))
		if got := h.run(d.step("both")); got.stdout != "o1\no2\n" || got.stderr != "e1\ne2\n" {
			t.Fatalf("%+v", got)
		}
		if d.step("closes-all") != "" {
			h.run(d.step("closes-all"))
			h.ok(d.say("on"), "on")
		}
	})
}
