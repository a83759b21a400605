package notebooks

import (
	"slices"
	"strings"
)

// Markers are what nbval's comments in the code of a step ask of a test of it: a line such as
//
//	# NBVAL_SKIP
//
// Unlike tags they are for tests alone: a notebook that is run, and not tested, runs as if they were
// not there, as it does with papermill.
type Markers struct {
	Skip   bool // NBVAL_SKIP: the step does not run
	Raises bool // NBVAL_RAISES_EXCEPTION: it may fail
	Ignore bool // NBVAL_IGNORE_OUTPUT, PYTEST_VALIDATE_IGNORE_OUTPUT: its output is not compared
	Check  bool // NBVAL_CHECK_OUTPUT: its output is compared, also where only marked steps are
}

// markers sets what each comment means. Of the last two of these the later in the code wins.
var markers = map[string]func(*Markers){
	"NBVAL_SKIP":                    func(m *Markers) { m.Skip = true },
	"NBVAL_RAISES_EXCEPTION":        func(m *Markers) { m.Raises = true },
	"NBVAL_CHECK_OUTPUT":            func(m *Markers) { m.Check, m.Ignore = true, false },
	"NBVAL_IGNORE_OUTPUT":           func(m *Markers) { m.Check, m.Ignore = false, true },
	"PYTEST_VALIDATE_IGNORE_OUTPUT": func(m *Markers) { m.Check, m.Ignore = false, true },
}

// Markers reads the comments that are nothing but a marker, behind # or //.
func (s *Step) Markers() Markers {
	var m Markers
	if !strings.Contains(string(s.Code), "NBVAL_") && !strings.Contains(string(s.Code), "PYTEST_VALIDATE_") {
		return m
	}
	for line := range strings.Lines(string(s.Code)) {
		line = strings.TrimSpace(line)
		word := strings.TrimLeft(line, "#")
		if word == line {
			word = strings.TrimLeft(line, "/")
			if len(line)-len(word) < 2 {
				continue
			}
		}
		if set := markers[strings.TrimSpace(word)]; set != nil {
			set(&m)
		}
	}
	return m
}

// ApplyMarkers gives the steps the tags for what their markers ask of a run: skip, and raises-exception. What is
// compared is no matter of the run.
func (nb *Notebook) ApplyMarkers() {
	for _, s := range nb.Steps {
		m := s.Markers()
		for tag, on := range map[string]bool{TagSkip: m.Skip, TagRaises: m.Raises} {
			if on && !slices.Contains(s.Tags, tag) {
				s.Tags = append(s.Tags, tag)
			}
		}
	}
}

// AllowErrors lets every step fail: the run goes on, and can pass. Steps that judge, tests and reviews, still do.
func (nb *Notebook) AllowErrors() {
	for _, s := range nb.Steps {
		if !s.Judges() && !s.Has(TagRaises) && !s.Has(TagAllowFailure) {
			s.Tags = append(s.Tags, TagAllowFailure)
		}
	}
}

// InterruptOnTimeout makes the time limit of every step but tests and reviews an interrupt, and no more.
func (nb *Notebook) InterruptOnTimeout() {
	for _, s := range nb.Steps {
		if !s.Judges() && !s.Has(TagInterrupt) {
			s.Tags = append(s.Tags, TagInterrupt)
		}
	}
}
