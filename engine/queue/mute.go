package queue

import (
	"slices"
	"time"

	"markmill/notebooks/codec"
)

// Mute keeps alerts of a notebook, or of one of its checks, from being sent for a time. What is known of the states
// goes on as without it.
type Mute struct {
	Project  string    `json:"project"` // name of the repository's folder
	Notebook string    `json:"notebook"`
	Check    string    `json:"check,omitzero"` // "" is everything that the notebook tells
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	// Ended says who ended it before its time, and why.
	Ended *Unmute `json:"ended,omitempty"`
	// Settled says that what still held at its end was put into the outbox.
	Settled bool `json:"settled,omitzero"`
	// Revision is what another put must name.
	Revision uint64 `json:"-"`
}

// Unmute is the end of a mute before its time.
type Unmute struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// MostMute bounds the time of a mute: what nobody is told of for longer is better taken out of the notebook.
const MostMute = 366 * 24 * time.Hour

// Key names the mute: a second one of the same notebook and check replaces the first.
func (m *Mute) Key() string { return digest(m.Project, m.Notebook, m.Check) }

// Of reports whether the mute is of an alert.
func (m *Mute) Of(a *Alert) bool {
	return m.Project == a.Project && m.Notebook == a.Notebook &&
		(m.Check == "" || a.About == AboutCheck && m.Check == a.Name)
}

// Active reports whether it holds at a time.
func (m *Mute) Active(now time.Time) bool { return !m.Settled && now.Before(m.Until) }

// Quiet marks what waits in a delivery as muted. It reports whether that changes anything.
func (m *Mute) Quiet(d *Delivery) (changed bool) {
	for i := range d.To {
		if r := &d.To[i]; r.State == Waiting {
			r.State, r.Next, r.By, r.Why = Muted, time.Time{}, m.By, m.Reason
			changed = true
		}
	}
	return changed
}

// Settle returns what is told when a mute ends, of all alerts of the outbox: each target is told of what is bad and
// stays so, and of what is good again if the last that it was told of it was bad. states has what the series of an
// alert knows now. The ids follow from the mute, so that it is told once, whoever settles it and however often.
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

// Mutes is the document that markmill alerts mutes prints.
type Mutes struct {
	Mutes []Mute `json:"mutes"` // those that hold, the one that ends first first
}

// MuteOf decodes a mute that was kept.
func MuteOf(data []byte, revision uint64) (*Mute, error) {
	m := &Mute{}
	err := codec.Unmarshal(data, m)
	m.Revision = revision
	return m, err
}
