package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netresearch/go-cron"
)

// Cron is a cron expression.
type Cron struct {
	wall cron.Schedule // the times on a clock that nobody sets forward or back
	// real: the minute or the hour begins with *, so the expression means an interval, and no time of the day.
	real bool
}

// searchYears is how far ahead a due time may be: from 29 February 2096 to the next one are eight years.
const searchYears = 12

// Of the libraries, netresearch/go-cron reads and matches expressions best, and none of them is right where clocks are
// set (docs/schedules.md has what each does in the cases of the tests). Its times are therefore those of a clock in
// UTC, and Next puts them into the time zone.
var parser = sync.OnceValue(func() cron.Parser {
	return cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom |
		cron.Descriptor).WithMaxSearchYears(searchYears)
})

var names = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}

var fieldNames = []string{"minute", "hour", "day of the month", "month", "day of the week"}

// Parse reads an expression of five fields, or @hourly, @daily, @weekly, @monthly, @yearly.
func Parse(text string) (*Cron, error) {
	fields := strings.Fields(text)
	name := strings.HasPrefix(text, "@")
	switch {
	case slices.Contains(names, text):
	case name || len(fields) != len(fieldNames):
		return nil, fmt.Errorf("expected five fields (minute, hour, day of the month, month, day of the week), such "+
			"as \"0 6 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly; got %q", text)
	}
	wall, err := parser().Parse(strings.Join(fields, " "))
	if err != nil {
		for i := range fields { // which one is it?
			alone := []string{"*", "*", "*", "*", "*"}
			alone[i] = fields[i]
			if _, err := parser().Parse(strings.Join(alone, " ")); err != nil {
				return nil, fmt.Errorf("%s %q: %w", fieldNames[i], fields[i], err)
			}
		}
		return nil, err
	}
	c := &Cron{wall: wall, real: text == "@hourly" || !name && (fields[0][0] == '*' || fields[1][0] == '*')}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC).IsZero() {
		return nil, errors.New("there is no such day in any year")
	}
	return c, nil
}

// Next is the first due time after a time, in a time zone; the zero time if there is none.
//
// Each time of the day that an expression names is due once. If clocks skip it, it is due at the moment when they are
// set; if they show it twice, it is due the first time. An expression whose minute or hour begins with * means an
// interval, and goes by the time that really passes: what clocks skip is not due, and what they show twice is due
// twice. These are the rules of Debian's cron.
func (c *Cron) Next(after time.Time, loc *time.Location) time.Time {
	t := after.In(loc)
	_, offset := t.Zone()
	wall := onWall(t, offset)
	for limit := t.AddDate(searchYears, 0, 0); t.Before(limit); {
		start, end := t.ZoneBounds() // in between, clocks are not set
		if !end.IsZero() && !end.After(t) {
			end = t.AddDate(0, 0, 1) // Go ends leap years after 2037 a day early, and there again and again
		}
		if !c.real && !start.IsZero() {
			if _, before := start.Add(-1).Zone(); before > offset {
				// Up to here clocks have shown it before.
				wall = later(wall, onWall(start, before).Add(-time.Second))
			}
		}
		next := c.wall.Next(wall)
		due := time.Unix(next.Unix()-int64(offset), 0).In(loc)
		if !next.IsZero() && (end.IsZero() || due.Before(end)) {
			return due
		}
		if end.IsZero() {
			break
		}
		last := onWall(end, offset)
		_, offset = end.Zone()
		wall = onWall(end, offset).Add(-time.Second)
		if skipped := c.wall.Next(last.Add(-time.Second)); !c.real && !skipped.IsZero() && !skipped.After(wall) {
			return end
		}
		t = end
	}
	return time.Time{}
}

// Newest is the last due time of those after one time and not after another; the zero time if there is none.
func (c *Cron) Newest(after, until time.Time, loc *time.Location) (newest time.Time) {
	// It looks back ever further, so that a schedule of every minute is not followed through a year.
	for _, back := range []time.Duration{time.Hour, 25 * time.Hour, 32 * 24 * time.Hour, 367 * 24 * time.Hour,
		1 << 62} {
		from := later(after, until.Add(-back))
		for due := c.Next(from, loc); !due.IsZero() && !due.After(until); due = c.Next(due, loc) {
			newest = due
		}
		if !newest.IsZero() || !from.After(after) {
			break
		}
	}
	return newest
}

// onWall is what a clock with an offset shows, as a time in UTC.
func onWall(t time.Time, offset int) time.Time { return time.Unix(t.Unix()+int64(offset), 0).UTC() }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
