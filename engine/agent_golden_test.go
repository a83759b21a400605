package engine_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"markmill/engine/agent"
	"markmill/notebooks/codec"
	"markmill/runs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorded are outputs of the real programs: testdata/agent/BACKEND/SCENARIO.exitN.jsonl.
func recorded(t testing.TB) []string {
	files, err := filepath.Glob("testdata/agent/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded outputs", err)
	}
	return files
}

var exitOf = regexp.MustCompile(`\.exit(\d+)\.jsonl$`)

// read reads a whole output.
func read(b agent.Backend, output []byte, exit int) []runs.AgentData {
	r := b.Reader()
	var events []runs.AgentData
	for line := range bytes.Lines(output) {
		events = append(events, r.Line(bytes.TrimSuffix(line, []byte{'\n'}))...)
	}
	return append(events, r.End(exit, "")...)
}

// backendOf is the backend whose program made a file.
func backendOf(t testing.TB, file string) agent.Backend {
	b, ok := agent.Find(filepath.Base(filepath.Dir(file)))
	if !ok {
		t.Fatalf("%s: no such backend", file)
	}
	return b
}

// TestRecorded: what the real programs printed is read as these events. Only claude has lines that nothing reads.
func TestRecorded(t *testing.T) {
	for _, file := range recorded(t) {
		output, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		exit, _ := strconv.Atoi(exitOf.FindStringSubmatch(file)[1])
		b := backendOf(t, file)
		var got strings.Builder
		for _, e := range read(b, output, exit) {
			got.WriteString(string(codec.RawOf(e)) + "\n")
			got.WriteString("\t" + strings.ReplaceAll(runs.Transcript(e), "\n", "\n\t") + "\n")
			if e.Kind == runs.AgentRaw && b.Name() != "claude" {
				t.Errorf("%s: a line that is not read: %s", file, codec.RawOf(e))
			}
		}
		golden := exitOf.ReplaceAllString(file, ".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got.String() != string(want) {
			t.Errorf("%s: %v\ngot:\n%s\nwant:\n%s", golden, err, got.String(), want)
		}
	}
}

// TestUnknown: a reader passes on what it does not know, and the turn of a program that prints nothing else is a
// protocol error.
func TestUnknown(t *testing.T) {
	for _, b := range agent.Table() {
		for _, line := range []string{`{"type":"from.the.future","x":[1]}`, `{"type":3}`, "\x00\xff",
			`{"type":"a","type":"b"}`} {
			got := b.Reader().Line([]byte(line))
			if len(got) != 1 || got[0].Kind != runs.AgentRaw || got[0].Bytes != int64(len(line)) ||
				got[0].Digest != runs.DigestOf([]byte(line)) {
				t.Errorf("%s reads %q as %s", b.Name(), line, codec.RawOf(got))
			}
		}
		events := read(b, []byte("hello\n"), 0)
		if end := events[len(events)-1]; end.Code != runs.CodeProviderProtocol {
			t.Errorf("%s: text and no event ends as %s", b.Name(), codec.RawOf(end))
		}
	}
}

// TestCommand: a command's text is what the agent says, its JSON lines are events, and its exit code counts.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		output string
		exit   int
		want   string
	}{
		{"a\nb\n", 0, `message "a\nb", end ""`},
		{"", 0, `end ""`},
		{"a\n", 3, `message "a", end "provider_failed"`},
		{`{"kind":"edit","path":"x"}` + "\n{}\n", 0, `edit "", message "{}", end ""`},
		{`{"kind":"message","text":"no"}` + "\n" + `{"kind":"end","code":"provider_refused","why":"no"}`, 0,
			`message "no", end "provider_refused"`},
		{`{"kind":"steer","text":"x"}` + "\n", 0, `raw "", end ""`},
		{`{"kind":"reasoning","text":"four"}` + "\n", 0, `reasoning "", end "provider_reasoning_only"`},
	} {
		var got []string
		for _, e := range read(agent.NewCommand("mine", nil), []byte(c.output), c.exit) {
			text := e.Text
			if e.Kind == runs.AgentEnd {
				text = e.Code
			}
			got = append(got, string(e.Kind)+" "+strconv.Quote(text))
		}
		if words := strings.Join(got, ", "); words != c.want {
			t.Errorf("%q, exit %d: %s, want %s", c.output, c.exit, words, c.want)
		}
	}
}

// FuzzReaders: no output makes a reader fail, every turn has one end, its last event, and no reasoning is kept.
func FuzzReaders(f *testing.F) {
	for _, file := range recorded(f) {
		output, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(output, 0)
	}
	f.Add([]byte(`{"kind":"reasoning","text":"x"}`), 1)
	backends := append(agent.Table(), agent.NewCommand("mine", nil))
	f.Fuzz(func(t *testing.T, output []byte, exit int) {
		for _, b := range backends {
			events := read(b, output, exit)
			for i, e := range events {
				runs.Transcript(e)
				if last := i == len(events)-1; (e.Kind == runs.AgentEnd) != last {
					t.Errorf("%s: event %d of %d is %s", b.Name(), i, len(events), e.Kind)
				}
				if e.Kind == runs.AgentReasoning && e.Text != "" {
					t.Errorf("%s keeps reasoning: %q", b.Name(), e.Text)
				}
				if _, err := codec.Marshal(e); err != nil {
					t.Errorf("%s: %v", b.Name(), err)
				}
			}
		}
	})
}
