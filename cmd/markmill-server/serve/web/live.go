package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"markmill/cmd/internal/child"
	"markmill/notebooks/codec"
	"markmill/render/result"
	"markmill/runs"
)

// liveEvery is the time between two looks at a run, and maxChunk how many bytes of output are sent then. A run that
// prints more is shown by the end of it: 128 kB a second are more than anybody reads.
const (
	liveEvery = 250 * time.Millisecond
	maxChunk  = 32 << 10
)

// liveState is what the page of a run shows of its state.
type liveState struct {
	Status  string     `json:"status"`
	Class   string     `json:"class"`
	Words   string     `json:"words"`
	Seconds float64    `json:"seconds"`
	Steps   []liveStep `json:"steps"`
	Files   []string   `json:"files"` // what has changed so far
	Agent   bool       `json:"agent"`
	// Processes are those that go on, as words.
	Processes []string `json:"processes"`
}

type liveStep struct {
	ID    string `json:"id"`
	Class string `json:"class"`
	Mark  string `json:"mark"`
	Words string `json:"words"`
}

// liveOutput is output of a step.
type liveOutput struct {
	Step    string `json:"step"`
	Stream  string `json:"stream"`
	Text    string `json:"text"`
	Skipped int64  `json:"skipped,omitzero"` // bytes before the text that are in the record only
}

// position names where a stream of events goes on: the place in the journal, then the step whose output is shown with
// the places in its streams.
func position(journal int64, steps []stepRow) string {
	for i := len(steps) - 1; i >= 0; i-- {
		if streams := steps[i].Streams; len(streams) == len(streamNames) {
			return fmt.Sprintf("%d.%d.%d.%d", journal, i, streams[0].offset, streams[1].offset)
		}
	}
	return fmt.Sprintf("%d.0.0.0", journal)
}

// viewer follows one run for one browser.
type viewer struct {
	to      *stream
	record  *runs.Record
	folded  *runs.Run
	journal *runs.Follower
	step    int // whose streams are read
	offsets [len(streamNames)]int64
	sent    string // the state that the browser has
	running *processes
}

// live answers with the events of a run as they come, and ends with it. A browser that lost its connection names the
// last event it has, and gets what came since.
func (s *server) live(w http.ResponseWriter, r *http.Request) error {
	record, err := s.find(r)
	if err != nil {
		return err
	}
	v := &viewer{record: record, folded: runs.NewRun(), journal: record.Follow(0), running: &s.running}
	defer v.journal.Close()
	v.begin(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("at")))
	return s.follow(w, r, liveEvery, func(to *stream) (bool, error) {
		v.to = to
		return v.poll()
	})
}

// begin reads a place. One that cannot be read is the beginning.
func (v *viewer) begin(at string) {
	var numbers [4]int64
	for i, word := range strings.SplitN(at, ".", len(numbers)) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return
		}
		numbers[i] = n
	}
	v.step, v.offsets = int(min(numbers[1], 1<<20)), [...]int64{numbers[2], numbers[3]}
}

// poll sends what has come. It returns true after the end of the run.
func (v *viewer) poll() (ended bool, err error) {
	alive := v.record.Alive()
	if err := addEvents(v.folded, v.journal); err != nil {
		return false, v.send("trouble", map[string]string{"words": err.Error()})
	}
	if err := v.output(); err != nil {
		return false, err
	}
	state := v.state(alive)
	without := state
	without.Seconds = 0
	same, err := codec.Marshal(without)
	if err != nil {
		return false, err
	}
	if string(same) != v.sent {
		v.sent = string(same)
		if err := v.send("state", state); err != nil {
			return false, err
		}
	}
	if v.folded.Completed != nil || !alive {
		return true, v.send("end", map[string]string{"status": state.Status})
	}
	return false, nil
}

func (v *viewer) state(alive bool) liveState {
	status := v.folded.Status()
	if v.folded.Completed == nil && !alive {
		status = runs.Interrupted
	}
	s := liveState{Status: string(status), Class: classOf(string(status)), Words: result.StatusWords(string(status)),
		Steps: []liveStep{}, Files: []string{}, Processes: []string{}}
	if alive && v.folded.Completed == nil {
		s.Processes = v.running.of(v.folded.Started.PID)
	}
	if !v.folded.StartedAt.IsZero() {
		s.Seconds = time.Since(v.folded.StartedAt).Seconds()
	}
	for _, step := range v.folded.Steps {
		one := liveStep{ID: string(step.Planned.ID)}
		one.Class, one.Mark, one.Words = stepState(step, alive && v.folded.Completed == nil)
		s.Steps = append(s.Steps, one)
		s.Agent = s.Agent || one.Class == "edit" && step.Planned.Lang == "agent"
		if step.Patch != nil {
			for _, f := range step.Patch.Files {
				s.Files = append(s.Files, fmt.Sprintf("%s +%d −%d", f.Path, f.Added, f.Deleted))
			}
		}
	}
	return s
}

// output sends what the steps have printed, from the step that is read on.
func (v *viewer) output() error {
	for ; v.step < len(v.folded.Steps); v.step, v.offsets = v.step+1, [len(streamNames)]int64{} {
		step := &v.folded.Steps[v.step]
		if step.Step == nil && step.Finished == nil && step.Planned.Action != runs.ActionSkip {
			return nil
		}
		if step.Step != nil {
			for i, name := range streamNames {
				if err := v.stream(step, i, name); err != nil {
					return err
				}
			}
		}
		if step.Finished == nil && step.Step != nil {
			return nil
		}
	}
	return nil
}

// stream sends what is new in one stream, or the end of it.
func (v *viewer) stream(step *runs.StepRecord, i int, name string) error {
	file, err := v.record.Open(path.Join(step.Step.Dir, name))
	if err != nil {
		return nil // it has printed nothing
	}
	defer file.Close()
	at, reads := file.(io.ReaderAt)
	info, err := file.Stat()
	if err != nil || !reads || info.Size() <= v.offsets[i] {
		return nil
	}
	out := liveOutput{Step: string(step.Planned.ID), Stream: name, Skipped: max(0, info.Size()-v.offsets[i]-maxChunk)}
	text := make([]byte, min(info.Size()-v.offsets[i], maxChunk))
	n, err := at.ReadAt(text, v.offsets[i]+out.Skipped)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	text = text[:n]
	v.offsets[i] += out.Skipped + int64(n)
	out.Text = child.Plain(text)
	return v.send("output", out)
}

func (v *viewer) send(kind string, data any) error {
	return v.to.event(fmt.Sprintf("%d.%d.%d.%d", v.journal.Offset(), v.step, v.offsets[0], v.offsets[1]), kind, data)
}
