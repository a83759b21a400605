package queue

import (
	"cmp"
	"slices"
	"time"

	"markmill/runs"
)

// Delivery is an alert and the state of its delivery.
type Delivery struct {
	Alert Alert     `json:"alert"`
	To    []Receipt `json:"to"`
	// Claim names the process that is sending it; nil is none.
	Claim *Claim `json:"claim,omitempty"`
	// Revision is the one that the next Put must name.
	Revision uint64 `json:"-"`
}

// Claim expires at a time, or when the delivery is put without it.
type Claim struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

// Receipt is the state of a delivery at one target.
type Receipt struct {
	Target string    `json:"target"`
	State  string    `json:"state"` // waiting, delivered, failed, muted
	Tried  int       `json:"tried"`
	Since  time.Time `json:"since"`         // when it began to wait
	Next   time.Time `json:"next,omitzero"` // not before this time
	Tries  []Try     `json:"tries"`         // the last twenty
	By     string    `json:"by,omitzero"`   // who asked for it again, or muted it
	Why    string    `json:"why,omitzero"`  // their reason
}

// Error is why the last try failed; "" if it did not, or there was none.
func (r *Receipt) Error() string {
	if len(r.Tries) == 0 {
		return ""
	}
	return r.Tries[len(r.Tries)-1].Error
}

// Try is one attempt, or a person's action.
type Try struct {
	Time  time.Time `json:"time"`
	Error string    `json:"error,omitzero"` // "" is a success
}

// States of a Receipt.
const (
	Waiting   = "waiting"
	Delivered = "delivered"
	GivenUp   = "failed"
	Muted     = "muted" // somebody did not want it to be sent
)

// How long, and how often, a failed delivery is retried.
const (
	firstWait  = 5 * time.Second
	mostWait   = 15 * time.Minute
	Patience   = 72 * time.Hour
	mostTries  = 20
	errorBytes = 300
)

// NewDelivery returns the delivery of an alert that was not sent yet.
func NewDelivery(a Alert, to []string, now time.Time) *Delivery {
	d := &Delivery{Alert: a}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(to))) {
		d.To = append(d.To, Receipt{Target: name, State: Waiting, Since: now, Next: now, Tries: []Try{}})
	}
	return d
}

// Open reports whether a target has not received it yet.
func (d *Delivery) Open() bool {
	return slices.ContainsFunc(d.To, func(r Receipt) bool { return r.State == Waiting })
}

// Failed reports whether a target was given up.
func (d *Delivery) Failed() bool {
	return slices.ContainsFunc(d.To, func(r Receipt) bool { return r.State == GivenUp })
}

// Ended records a try. After an error that a retry cannot mend there is no further one; after is the least time until
// the next one, if the receiver has named it.
func (r *Receipt) Ended(now time.Time, err error, final bool, after time.Duration) {
	try := Try{Time: now}
	if r.Tried++; r.Tried == 1 {
		r.Since = now
	}
	r.Next = time.Time{}
	switch {
	case err == nil:
		r.State = Delivered
	default:
		try.Error = err.Error()
		try.Error = try.Error[:min(len(try.Error), errorBytes)]
		if final || now.Sub(r.Since) >= Patience {
			r.State = GivenUp
			break
		}
		wait := min(firstWait<<min(r.Tried-1, 16), mostWait)
		r.Next = now.Add(max(wait, min(after, time.Hour)))
	}
	r.Tries = append(r.Tries, try)
	r.Tries = r.Tries[max(0, len(r.Tries)-mostTries):]
}

// Again makes an alert due now at every target that has not received it. It reports whether that changes anything.
func (d *Delivery) Again(by, why string, now time.Time) (changed bool) {
	for i := range d.To {
		if r := &d.To[i]; r.State != Delivered {
			r.State, r.Since, r.Next, r.By, r.Why = Waiting, now, now, by, why
			changed = true
		}
	}
	return changed
}

// Outbox is the document that markmill health alerts list prints.
type Outbox struct {
	Alerts []*Delivery  `json:"alerts"` // the newest first
	Total  int          `json:"total"`  // of those that were asked for
	Runs   []runs.RunID `json:"runs"`   // whose alerts are not in the outbox yet
}

// Compare orders deliveries as they happened.
func (d *Delivery) Compare(other *Delivery) int {
	return cmp.Or(d.Alert.Time.Compare(other.Alert.Time), cmp.Compare(d.Alert.Place, other.Alert.Place))
}
