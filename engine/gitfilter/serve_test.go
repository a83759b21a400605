package gitfilter

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// requests returns Git's side of a conversation: a greeting, then requests of command, path and content.
func requests(list ...[3]string) []byte {
	var b bytes.Buffer
	p := newPackets(nil, &b)
	p.say("git-filter-client", "version=2")
	p.say("capability=clean", "capability=smudge", "capability=delay")
	for _, r := range list {
		p.say("command="+r[0], "pathname="+r[1])
		p.send([]byte(r[2]))
	}
	_ = p.out.Flush()
	return b.Bytes()
}

// marked shows the arguments of clean.
func marked(path string, content []byte) []byte {
	return append([]byte(path+":"), content...)
}

func TestServeAnswersAsGitWants(t *testing.T) {
	large := strings.Repeat("x", 3*maxPacket)
	asked := requests([3]string{"clean", "a=b c.ipynb", large}, [3]string{"smudge", "a", large},
		[3]string{"clean", "a", ""},
		[3]string{"other", "x", "y"}, [3]string{"clean", "é", "\x00\xff\n"})
	var answer bytes.Buffer
	if err := Serve(bytes.NewReader(asked), &answer, marked); err != nil {
		t.Fatal(err)
	}
	p := newPackets(&answer, io.Discard)
	for _, want := range []string{"git-filter-server version=2", "capability=clean capability=smudge"} {
		if got, err := p.lines(); err != nil || strings.Join(got, " ") != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
	for i, want := range []string{"a=b c.ipynb:" + large, large, "a:", "error", "é:\x00\xff\n"} {
		status, err := p.lines()
		if err != nil {
			t.Fatal(err)
		}
		if want == "error" {
			if strings.Join(status, " ") != "status=error" {
				t.Errorf("answer %d: %q", i, status)
			}
			continue
		}
		content, err := p.bytes()
		if err != nil {
			t.Fatal(err)
		}
		after, err := p.lines()
		if err != nil || strings.Join(status, " ") != "status=success" || len(after) != 0 || string(content) != want {
			t.Errorf("answer %d: %q, %d bytes, %q, %v", i, status, len(content), after, err)
		}
	}
	if _, err := p.lines(); err != io.EOF {
		t.Errorf("there is more: %v", err)
	}
}

// A conversation that ends in the middle of a file is an error: half a file must not pass for a whole one.
func TestServeIsNotFooledByACut(t *testing.T) {
	whole := requests([3]string{"clean", "a.ipynb", `{"cells":[],"nbformat":4}`})
	for n := range whole {
		var answer bytes.Buffer
		err := Serve(bytes.NewReader(whole[:n]), &answer, marked)
		if err == nil && n != len(requests()) {
			t.Errorf("cut at %d: no error", n)
		}
		if bytes.Contains(answer.Bytes(), []byte("status=success")) {
			t.Errorf("cut at %d: answered %q", n, answer.Bytes())
		}
	}
}

// FuzzServe: Serve always ends and answers at most once per request.
func FuzzServe(f *testing.F) {
	f.Add(requests([3]string{"clean", "a.ipynb", `{"cells":[],"nbformat":4}`}))
	f.Add([]byte("0000"))
	f.Add([]byte("fff0abc"))
	f.Fuzz(func(t *testing.T, said []byte) {
		asked := 0
		var answer bytes.Buffer
		_ = Serve(bytes.NewReader(said), &answer, func(_ string, content []byte) []byte { asked++; return content })
		if got := bytes.Count(answer.Bytes(), []byte("status=success")); got < asked-1 {
			t.Errorf("asked %d times, answered %d", asked, got)
		}
	})
}
