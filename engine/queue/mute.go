package queue

import (
	"slices"
	"time"
)

// Mute suppresses the alerts of a notebook, or of one of its checks, for a time. States are recorded as without it.
type Mute struct {
	Project  string    `json:"project"` // name of the repository's folder
	Notebook string    `json:"notebook"`
	Check    string    `json:"check,omitzero"` // "" is everything that the notebook tells
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	// Ended names who ended it early, and why.
	Ended *Unmute `json:"ended,omitempty"`
	// Settled says that the alerts due at its end are in the outbox.
	Settled bool `json:"settled,omitzero"`
	// Revision is the one that the next put must name.
	Revision uint64 `json:"-"`
}

// Unmute is the early end of a mute.
type Unmute struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// MostMute bounds the time of a mute: an alert that is unwanted for longer should leave the notebook.
const MostMute = 366 * 24 * time.Hour

// Key names the mute: a second one of the same notebook and check replaces the first.
func (m *Mute) Key() string { return digest(m.Project, m.Notebook, m.Check) }

// Of reports whether the mute covers an alert.
func (m *Mute) Of(a *Alert) bool {
	return m.Project == a.Project && m.Notebook == a.Notebook &&
		(m.Check == "" || a.About == AboutCheck && m.Check == a.Name)
}

// Active reports whether it is in force at a time.
func (m *Mute) Active(now time.Time) bool { return !m.Settled && now.Before(m.Until) }

// Quiet marks the waiting receipts of a delivery as muted. It reports whether that changes anything.
func (m *Mute) Quiet(d *Delivery) (changed bool) {
	for i := range d.To {
		if r := &d.To[i]; r.State == Waiting {
			r.State, r.Next, r.By, r.Why = Muted, time.Time{}, m.By, m.Reason
			changed = true
		}
	}
	return changed
}

// Settle returns the alerts that are due when a mute ends, given all alerts of the outbox: each target is told what is
// bad and still so, and what is good again if the last alert that it got was bad. states holds the present states of an
// alert's series. The ids are computed from the mute, so each is sent once, whoever settles it and however often.
func (m *Mute) Settle(outbox []*Delivery, states func(*Alert) map[string]string) (list []*Delivery) {
	type subject struct{ by, about, name string }
	all := map[subject][]*Delivery{}
	for _, d := range outbox {
		if a := &d.Alert; m.Of(a) {
			key := subject{a.By, a.About, a.Name}
			all[key] = append(all[key], d)
		}
	}
	for _, told := range all {
		slices.SortStableFunc(told, (*Delivery).Compare)
		last := told[len(told)-1]
		if states(&last.Alert)[last.Alert.About+":"+last.Alert.Name] != last.Alert.State {
			continue // it has turned since, into what nobody wants to know of
		}
		var to []string
		for i := range last.To {
			r := &last.To[i]
			if r.State != Waiting && (last.Alert.Bad() || r.State == Muted && knowsBad(told, r.Target)) {
				to = append(to, r.Target)
			}
		}
		if len(to) == 0 {
			continue
		}
		again := last.Alert
		again.ID = digest(m.Key(), m.From.UTC().Format(time.RFC3339Nano), last.Alert.ID)
		again.Time, again.Unmuted = m.Until.UTC(), true
		list = append(list, NewDelivery(again, to, again.Time))
	}
	slices.SortFunc(list, (*Delivery).Compare)
	return list
}

// knowsBad reports whether the last that a target got of these alerts was bad.
func knowsBad(told []*Delivery, target string) (bad bool) {
	for _, d := range told {
		for i := range d.To {
			if r := &d.To[i]; r.Target == target && r.State == Delivered {
				bad = d.Alert.Bad()
			}
		}
	}
	return bad
}

// Mutes is the document that markmill health alerts mutes prints.
type Mutes struct {
	Mutes []Mute `json:"mutes"` // those that hold, the one that ends first first
}
