package runs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs/testhome"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdLock); dir != "" {
		holdLockUntilKilled(dir)
	}
	if dir := os.Getenv(followRun); dir != "" {
		followAndPrint(dir)
	}
	if dir := os.Getenv(holdLockWithChild); dir != "" {
		lockAndHandOn(dir)
	}
	testhome.Main(m)
}

var (
	aSource = DigestOf([]byte("# source\n"))
	aTime   = time.Date(2020, 11, 21, 9, 0, 0, 0, time.UTC)
)

// ticking is a clock that goes one millisecond on each time it is read.
func ticking(start time.Time) func() time.Time {
	var mu sync.Mutex
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		start = start.Add(time.Millisecond)
		return start
	}
}

func newJournal(t testing.TB) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), JournalFile)
	j, err := CreateJournal(path, aSource, ticking(aTime))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j, path
}

func mustAppend(t testing.TB, j *Journal, kind EventType, step notebooks.StepID, data any) Event {
	t.Helper()
	event, err := j.Append(kind, step, data)
	if err != nil {
		t.Fatal(err)
	}
	return event
}

func TestEventLineIsAsDocumented(t *testing.T) {
	j, path := newJournal(t)
	mustAppend(t, j, RunStarted, "", map[string]any{"b": 1, "a": codec.Raw("12345678901234567890123")})
	mustAppend(t, j, StepFinished, "collect", map[string]any{})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Made by hand: printf '%s' 'the line without hash' | sha256sum
	first := DigestOf([]byte(`{"data":{"a":12345678901234567890123,"b":1},"prev":"` + string(aSource) +
		`","seq":0,"time":"2020-11-21T09:00:00.001Z","type":"run.started"}`))
	second := DigestOf([]byte(`{"data":{},"prev":"` + string(first) +
		`","seq":1,"step":"collect","time":"2020-11-21T09:00:00.002Z","type":"step.finished"}`))
	want := `{"data":{"a":12345678901234567890123,"b":1},"hash":"` + string(first) + `","prev":"` + string(aSource) +
		`","seq":0,"time":"2020-11-21T09:00:00.001Z","type":"run.started"}` + "\n" +
		`{"data":{},"hash":"` + string(second) + `","prev":"` + string(first) +
		`","seq":1,"step":"collect","time":"2020-11-21T09:00:00.002Z","type":"step.finished"}` + "\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// drawJournal appends drawn events and returns them with the journal's bytes.
func drawJournal(t *rapid.T, dir string) ([]Event, []byte) {
	dir, err := os.MkdirTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, JournalFile)
	j, err := CreateJournal(path, aSource, ticking(aTime))
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	types := []EventType{RunStarted, StepStarted, ScrapRecorded, StepFinished, RunCompleted}
	for range rapid.IntRange(1, 6).Draw(t, "events") {
		text := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "")
		event, err := j.Append(rapid.SampledFrom(types).Draw(t, "type"),
			notebooks.StepID(rapid.StringMatching(`[a-z0-9 é"\\]{0,6}`).Draw(t, "step")),
			map[string]any{"text": text, "hash": "x", "n": rapid.Int64().Draw(t, "n")})
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return events, text
}

func TestJournalRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want, text := drawJournal(t, dir)
		got, torn, err := ReadJournal(bytes.NewReader(text), aSource)
		if err != nil || torn || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, torn %v, %v\nwant %v", got, torn, err, want)
		}
	})
}

// TestJournalNoticesEveryByte: no byte can be changed without notice, and a cut is noticed or drops
// whole events from the end only.
func TestJournalNoticesEveryByte(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want, text := drawJournal(t, dir)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed := bytes.Clone(text)
		changed[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "xor"))
		got, torn, err := ReadJournal(bytes.NewReader(changed), aSource)
		if err == nil && !(torn && at == len(text)-1 && len(got) == len(want)-1) {
			t.Fatalf("byte %d of %q may be changed: torn %v, %d of %d events", at, text, torn, len(got), len(want))
		}
		got, torn, err = ReadJournal(bytes.NewReader(text[:at]), aSource)
		whole := bytes.Count(text[:at], []byte("\n"))
		onLine := at == 0 || text[at-1] == '\n'
		if err != nil || torn == onLine || len(got) != whole || whole > 0 && !reflect.DeepEqual(got, want[:whole]) {
			t.Fatalf("cut at %d: %d events, torn %v, %v", at, len(got), torn, err)
		}
	})
}

func TestReadJournalNamesTheBreak(t *testing.T) {
	j, path := newJournal(t)
	for i := range 4 {
		mustAppend(t, j, ScrapRecorded, "s", map[string]int{"i": i})
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	replace := func(i int, old, new string) []byte {
		changed := bytes.Replace(lines[i], []byte(old), []byte(new), 1)
		if bytes.Equal(changed, lines[i]) {
			t.Fatalf("%q is not in %q", old, lines[i])
		}
		return join(join(lines[:i]...), changed, join(lines[i+1:]...))
	}
	// An event that was taken from elsewhere, whole and with a hash of its own.
	forged := Event{Seq: 9, Time: aTime, Type: ScrapRecorded, Data: codec.Raw(`{}`),
		Prev: Digest(between(lines[1], `"hash":"`, `"`))}
	forgedLine, _, err := forged.line()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		text   []byte
		source Digest
		want   string
		before int
	}{
		{"data changed", replace(2, `"i":2`, `"i":3`), aSource, "event 2: hash mismatch", 2},
		{"time changed", replace(1, `T09`, `T08`), aSource, "event 1: hash mismatch", 1},
		{"seq changed", replace(1, `"seq":1`, `"seq":5`), aSource, "event 1: hash mismatch", 1},
		{"member added", replace(1, `,"time"`, `,"t":1,"time"`), aSource, "event 1: hash mismatch", 1},
		{"space added", replace(1, `"data":`, `"data": `), aSource, "event 1: bad JSON: the line is not canonical JSON",
			1},
		{"prev changed", replace(3, `"prev":"sha256:`, `"prev":"sha256:0`), aSource, "event 3: broken prev", 3},
		{"event removed", join(lines[0], lines[2], lines[3]), aSource, "event 1: broken prev", 1},
		{"events swapped", join(lines[0], lines[2], lines[1], lines[3]), aSource, "event 1: broken prev", 1},
		{"event repeated", join(lines[0], lines[0]), aSource, "event 1: broken prev", 1},
		{"seq forged", join(lines[0], lines[1], forgedLine), aSource, "event 2: broken prev: its seq is 9", 2},
		{"other source", text, DigestOf(nil), "event 0: broken prev", 0},
		{"bad JSON", join(lines[0], []byte("{\n"), lines[1]), aSource, "event 1: bad JSON", 1},
		{"empty line", join(lines[0], []byte("\n"), lines[1]), aSource, "event 1: bad JSON", 1},
		{"key twice", replace(2, `"data":`, `"data":1,"data":`), aSource, "event 2: bad JSON", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, torn, err := ReadJournal(bytes.NewReader(c.text), c.source)
			var known *notebooks.Error
			if !errors.As(err, &known) || !strings.HasPrefix(known.Msg, c.want) || known.Line != c.before+1 ||
				known.Kind != notebooks.KindRecord {
				t.Errorf("got %v, want %q in line %d", err, c.want, c.before+1)
			}
			if torn || len(events) != c.before {
				t.Errorf("torn %v, %d events before it, want %d", torn, len(events), c.before)
			}
		})
	}
}

func between(text []byte, start, end string) string {
	_, rest, _ := strings.Cut(string(text), start)
	inner, _, _ := strings.Cut(rest, end)
	return inner
}

// TestLaterMembersAreHashedToo: an event of a later version, with members that this one does not know.
func TestLaterMembersAreHashedToo(t *testing.T) {
	body := `"data":{},%s"prev":"` + string(aSource) +
		`","seq":0,"span":"x","time":"2020-11-21T09:00:00Z","type":"run.started"}`
	hash := DigestOf([]byte("{" + fmt.Sprintf(body, "")))
	line := "{" + fmt.Sprintf(body, `"hash":"`+string(hash)+`",`) + "\n"
	if events, _, err := ReadJournal(strings.NewReader(line), aSource); err != nil || len(events) != 1 {
		t.Errorf("%d events, %v", len(events), err)
	}
	line = strings.Replace(line, `"span":"x"`, `"span":"y"`, 1)
	if _, _, err := ReadJournal(strings.NewReader(line), aSource); err == nil {
		t.Error("a change in it went unseen")
	}
}

// A member of a later version may sort before data, and hold what looks like the hash of the event.
func TestHashAmongLaterMembers(t *testing.T) {
	const fake = `"hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	for _, first := range []string{`"aaaa":{"b":1,` + fake + `},`, `"a":1,`, `"data2":{` + fake + `},`} {
		body := `"data":1,%s"prev":"` + string(aSource) +
			`","seq":0,"time":"2020-11-21T09:00:00Z","type":"run.started"}`
		if strings.HasPrefix(first, `"data2"`) {
			body = strings.Replace(body, "%s", first+"%s", 1)
		} else {
			body = first + body
		}
		hash := DigestOf([]byte("{" + fmt.Sprintf(body, "")))
		line := "{" + fmt.Sprintf(body, `"hash":"`+string(hash)+`",`) + "\n"
		if _, _, err := ReadJournal(strings.NewReader(line), aSource); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestOpenJournalGoesOn(t *testing.T) {
	for _, torn := range []string{"", "{", `{"data":{}`, "\x00\x00\x00", "x"} {
		t.Run(fmt.Sprintf("%q", torn), func(t *testing.T) {
			j, path := newJournal(t)
			mustAppend(t, j, RunStarted, "", nil)
			last := mustAppend(t, j, StepStarted, "s", nil)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			appendTo(t, path, torn)
			back, events, err := OpenJournal(path, aSource, func() time.Time { return aTime.Add(-time.Hour) })
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			next := mustAppend(t, back, StepFinished, "s", nil)
			if len(events) != 2 || next.Seq != 2 || next.Prev != last.Hash {
				t.Errorf("%d events; the next is %+v", len(events), next)
			}
			if next.Time != last.Time {
				t.Errorf("the clock was set back and time went from %s to %s", last.Time, next.Time)
			}
			if events, torn := mustRead(t, path); len(events) != 3 || torn {
				t.Errorf("%d events, torn %v", len(events), torn)
			}
		})
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, path string) ([]Event, bool) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, torn, err := ReadJournal(file, aSource)
	if err != nil {
		t.Fatal(err)
	}
	return events, torn
}

func TestOpenJournalRefusesABreak(t *testing.T) {
	j, path := newJournal(t)
	mustAppend(t, j, RunStarted, "", nil)
	appendTo(t, path, "{}\n")
	before, _ := os.ReadFile(path)
	if _, _, err := OpenJournal(path, aSource, time.Now); err == nil {
		t.Error("it was opened")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("it was changed")
	}
}

func TestJournalIsCreatedOnce(t *testing.T) {
	_, path := newJournal(t)
	if _, err := CreateJournal(path, aSource, time.Now); err == nil {
		t.Error("a journal was made over another")
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	times := []time.Duration{0, time.Second, -time.Hour, 2 * time.Second}
	path := filepath.Join(t.TempDir(), JournalFile)
	j, err := CreateJournal(path, aSource, func() time.Time {
		next := aTime.Add(times[0])
		times = times[1:]
		return next
	})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var got []time.Duration
	for range 4 {
		got = append(got, mustAppend(t, j, StepStarted, "s", nil).Time.Sub(aTime))
	}
	if want := []time.Duration{0, time.Second, time.Second, 2 * time.Second}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAppendFromManyGoroutines(t *testing.T) {
	const writers, each = 8, 200
	j, path := newJournal(t)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for w := range writers {
		wg.Go(func() {
			<-start
			for i := range each {
				if _, err := j.Append(ScrapRecorded, "s", map[string]int{"w": w, "i": i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if err := j.Sync(); err != nil {
				t.Error(err)
			}
		}
	})
	close(start)
	wg.Wait()
	events, torn := mustRead(t, path)
	if len(events) != writers*each || torn {
		t.Fatalf("%d events, torn %v", len(events), torn)
	}
	next := map[int]int{} // those of one writer are in its order
	for _, event := range events {
		data, err := decode[map[string]int](event)
		if err != nil || data["i"] != next[data["w"]] {
			t.Fatalf("%v, %v; writer's next is %d", data, err, next[data["w"]])
		}
		next[data["w"]]++
	}
}

func TestClosedJournal(t *testing.T) {
	j, _ := newJournal(t)
	mustAppend(t, j, RunStarted, "", nil)
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Append(RunStarted, "", nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := j.Sync(); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAppendRefusesWhatIsNoJSON(t *testing.T) {
	j, path := newJournal(t)
	if _, err := j.Append(RunStarted, "", "\xff"); err == nil {
		t.Error("it was appended")
	}
	if _, err := j.Append(RunStarted, "\xff", nil); err == nil {
		t.Error("it was appended")
	}
	mustAppend(t, j, RunStarted, "", nil)
	if events, _ := mustRead(t, path); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

func TestNewRunID(t *testing.T) {
	at := time.Date(2026, 11, 21, 11, 4, 5, 6, time.FixedZone("x", 2*3600))
	for notebook, want := range map[string]RunID{
		"tasks/Fix Bug_1.md":              "20261121T090405Z-fix-bug-1-00ff",
		`C:\notes\a.b.ipynb`:              "20261121T090405Z-a-b-00ff",
		"健康.md":                           "20261121T090405Z-notebook-00ff",
		"":                                "20261121T090405Z-notebook-00ff",
		strings.Repeat("a-", 300) + ".md": "20261121T090405Z-" + RunID(strings.Repeat("a-", 19)) + "a-00ff",
		"-":                               "20261121T090405Z-notebook-00ff",
	} {
		if got := NewRunID(at, notebook, []byte{0, 255}); got != want {
			t.Errorf("%q: got %s, want %s", notebook, got, want)
		}
	}
}

// FuzzReadJournal: any bytes are read without a panic, and what is read can be written and read
// again the same.
func FuzzReadJournal(f *testing.F) {
	j, path := newJournal(f)
	mustAppend(f, j, RunStarted, "", map[string]any{"a": codec.Raw("1.50")})
	mustAppend(f, j, StepStarted, "s", nil)
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte("{}\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, torn, err := ReadJournal(bytes.NewReader(text), aSource)
		if err != nil {
			return
		}
		if torn == (len(text) == 0 || text[len(text)-1] == '\n') {
			t.Fatalf("torn %v of %q", torn, text)
		}
		var again []byte
		for _, event := range events {
			line, hash, err := event.line()
			if err != nil || hash != event.Hash && !bytes.Contains(text, line) {
				return // it has members that this version does not know
			}
			again = append(again, line...)
		}
		if !bytes.HasPrefix(text, again) {
			t.Fatalf("%q was read and is %q", text, again)
		}
	})
}
