package web

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// keptEvents is how many events a client can be behind; sentAtOnce how many are sent in one write; eventsEvery is the
// time between two writes.
const (
	keptEvents  = 8192
	sentAtOnce  = 128
	eventsEvery = 50 * time.Millisecond
)

// runEvent is an event of /events about a run.
type runEvent struct {
	Run      runs.RunID       `json:"run_id"`
	Notebook string           `json:"notebook,omitzero"`
	Time     time.Time        `json:"time"`
	Seq      int              `json:"seq"` // in the run's journal; -1 is not in it
	Step     notebooks.StepID `json:"step,omitzero"`
	Status   string           `json:"status,omitzero"` // of a step or run that has ended
	Actor    string           `json:"actor,omitzero"`  // who asked for the run, or answered
	Answer   string           `json:"answer,omitzero"` // granted or denied
}

// Types of events that are in no journal.
const (
	approvalAnswered runs.EventType = "approval.answered" // a person has answered; the next run uses it
	runInterrupted   runs.EventType = "run.interrupted"   // its process has gone without an end in the journal
	eventsReset      runs.EventType = "reset"             // events are missing before the next one
)

// feed is the stream of the events of all runs. It begins with its first client, and keeps the latest events, so that a
// client that reconnects gets what it missed. It waits for no client: each reads the kept events at its own pace.
type feed struct {
	store runs.Store
	end   <-chan struct{}

	mutex sync.Mutex
	epoch string // names this feed: numbers of another one say nothing; "" has not begun
	kept  []string
	first int // number of kept[0]
}

// begin starts the feed; existing events count as old.
func (f *feed) begin() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.epoch != "" {
		return nil
	}
	w := &watcher{feed: f, known: map[runs.RunID]bool{}, followed: map[runs.RunID]*followed{}}
	if err := w.begin(); err != nil {
		return err
	}
	f.epoch = rand.Text()[:8]
	go w.watch()
	return nil
}

// publish adds an event.
func (f *feed) publish(kind runs.EventType, h runEvent) {
	data, err := codec.Marshal(h)
	if err != nil {
		return // a struct of ours can be written
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.kept) >= keptEvents {
		drop := keptEvents / 8
		f.kept = append(f.kept[:0:0], f.kept[drop:]...)
		f.first += drop
	}
	f.kept = append(f.kept, fmt.Sprintf("id: %s.%d\nevent: %s\ndata: %s\n\n", f.epoch, f.first+len(f.kept), kind, data))
}

// start is the number of the first event that a client gets: behind the one that it had last, else the next one. reset
// says that there were events in between that are not kept.
func (f *feed) start(last string) (next int, reset bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	next = f.first + len(f.kept)
	if last == "" {
		return next, false
	}
	epoch, number, _ := strings.Cut(last, ".")
	n, err := strconv.Atoi(number)
	if err != nil || epoch != f.epoch || n < f.first-1 || n >= next {
		return next, true
	}
	return n + 1, false
}

// after returns the events from a number on. fallen says that they are no longer kept.
func (f *feed) after(next int) (text string, upTo int, fallen bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if next < f.first {
		return "", next, true
	}
	list := f.kept[next-f.first:]
	list = list[:min(len(list), sentAtOnce)]
	return strings.Join(list, ""), next + len(list), false
}

// events streams the events of all runs.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	if err := s.feed.begin(); err != nil {
		return fmt.Errorf("the records cannot be read: %w", err)
	}
	next, reset := s.feed.start(r.Header.Get("Last-Event-ID"))
	greeting := fmt.Sprintf("id: %s.%d\n", s.feed.epoch, next-1) // from where a client that gets no event resumes
	if reset {
		greeting += fmt.Sprintf("event: %s\ndata: {}\n", eventsReset)
	}
	text := greeting + "\n"
	return s.follow(w, r, eventsEvery, func(to *stream) (fallen bool, err error) {
		for {
			if text != "" {
				if err := to.send(text); err != nil {
					return false, err
				}
			}
			if text, next, fallen = s.feed.after(next); text == "" {
				return fallen, nil // when a client that was too slow comes back, it is told so
			}
		}
	})
}

// watcher looks for new events in the journals.
type watcher struct {
	*feed
	changed  time.Time // of the list of runs, when it was read
	known    map[runs.RunID]bool
	followed map[runs.RunID]*followed
	answered time.Time // when the answers were read
	answers  map[string]bool
}

// beginTime is how long a run may take from its folder to its first event.
const beginTime = time.Minute

// followed is a run whose journal is read.
type followed struct {
	record      *runs.Record
	journal     *runs.Follower
	notebook    string
	interrupted bool // that was said
	since       time.Time
}

// begin notes what is there: runs that have ended, how far the others are, and answers.
func (w *watcher) begin() error {
	if err := w.list(func(runs.RunID) {}); err != nil {
		return err
	}
	marked, err := w.store.Marked()
	if err != nil {
		return err
	}
	for _, id := range marked {
		w.follow(id)
		f := w.followed[id]
		for {
			e, found, err := f.journal.Ready()
			if err != nil || !found {
				break
			}
			f.read(e)
		}
	}
	return w.readAnswers(false)
}

func (w *watcher) follow(id runs.RunID) {
	record := w.store.Record(id)
	w.followed[id] = &followed{record: record, journal: record.Follow(0), since: time.Now()}
}

// list reads the list of runs if it has changed, and calls found for each that is new. The clock of a disk is coarse: a
// list that changed just now may change once more at the same time.
func (w *watcher) list(found func(runs.RunID)) error {
	changed, err := w.store.Changed()
	if err != nil || changed.Equal(w.changed) && time.Since(changed) > time.Second {
		return err
	}
	ids, err := w.store.IDs()
	if err != nil {
		return err
	}
	w.changed = changed
	for _, id := range ids {
		if !w.known[id] {
			w.known[id] = true
			found(id)
		}
	}
	return nil
}

// watch looks until the server ends.
func (w *watcher) watch() {
	ticker := time.NewTicker(liveEvery)
	defer ticker.Stop()
	defer func() {
		for _, f := range w.followed {
			_ = f.journal.Close() // it was only read
		}
	}()
	for {
		select {
		case <-ticker.C:
		case <-w.end:
			return
		}
		if w.list(w.follow) != nil {
			continue // the records cannot be read just now
		}
		for id, f := range w.followed {
			if w.step(id, f) {
				_ = f.journal.Close() // it was only read
				delete(w.followed, id)
			}
		}
		_ = w.readAnswers(true) // they cannot be read just now
	}
}

// step publishes the new events of a run. It returns true when no more can come.
func (w *watcher) step(id runs.RunID, f *followed) (done bool) {
	alive := f.record.Alive()
	for {
		e, found, err := f.journal.Ready()
		if err != nil {
			return true // list shows that it is damaged
		}
		if !found {
			break
		}
		kind, h := f.read(e)
		if h.Run = id; kind != "" {
			w.publish(kind, h)
		}
		if e.Type == runs.RunCompleted {
			return true
		}
	}
	if alive || f.record.Alive() { // a run that begins makes its folder before it holds it
		f.interrupted = false
		return false
	}
	if _, err := f.record.Stat(runs.JournalFile); err != nil {
		return time.Since(f.since) > beginTime // removed, or never begun
	}
	if !f.interrupted {
		f.interrupted = true
		w.publish(runInterrupted, runEvent{Run: id, Notebook: f.notebook, Time: time.Now().UTC(), Seq: -1})
	}
	return false // reconcile may complete it
}

// read makes of an event of a journal what is published; the type is "" for those that are not.
func (f *followed) read(e runs.Event) (runs.EventType, runEvent) {
	var data struct {
		Notebook string `json:"notebook"`
		Source   string `json:"source_path"`
		Status   string `json:"status"`
		Actor    string `json:"actor"`
	}
	switch e.Type {
	case runs.RunStarted, runs.StepStarted, runs.StepFinished, runs.ApprovalRequested, runs.ApprovalGranted,
		runs.ApprovalDenied, runs.GateBlocked, runs.RunCompleted:
	default:
		return "", runEvent{}
	}
	if codec.Unmarshal(e.Data, &data) != nil {
		return "", runEvent{}
	}
	if e.Type == runs.RunStarted {
		if f.notebook = data.Source; f.notebook == "" {
			f.notebook = data.Notebook
		}
	}
	return e.Type, runEvent{Notebook: f.notebook, Time: e.Time, Seq: e.Seq, Step: e.Step, Status: data.Status,
		Actor: data.Actor}
}

// readAnswers reads the answers to requests for approvals, and publishes those that are new.
func (w *watcher) readAnswers(publish bool) error {
	changed, err := w.store.Approvals().Changed()
	if err != nil || changed.Equal(w.answered) && time.Since(changed) > time.Second {
		return err
	}
	list, err := w.store.Approvals().Answers()
	if err != nil {
		return err
	}
	if w.answered = changed; w.answers == nil {
		w.answers = map[string]bool{}
	}
	for _, a := range list {
		if w.answers[a.ID] {
			continue
		}
		w.answers[a.ID] = true
		if publish {
			w.publish(approvalAnswered, runEvent{Run: a.Run, Time: a.Time, Seq: -1, Actor: a.Actor,
				Answer: a.Approval.Answer})
		}
	}
	return nil
}
