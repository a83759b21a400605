package schedule

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

//go:embed testdata/cronsim.tsv
var cronsim string

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// TestNext holds the due times to those of another implementation of Debian's rules, in zones of both hemispheres, at
// changes of one hour, half an hour and a day, at midnight, and where a zone has changed its rule.
func TestNext(t *testing.T) {
	rows := 0
	for line := range strings.SplitSeq(strings.TrimSpace(cronsim), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		cells := strings.Split(line, "\t")
		loc, c := zone(t, cells[0]), parsed(t, cells[2])
		after, err := strconv.ParseInt(cells[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(after, 0)
		for i, want := range strings.Fields(cells[3]) {
			at = c.Next(at, loc)
			if got := strconv.FormatInt(at.Unix(), 10); got != want {
				t.Errorf("%s, %q after %s: due time %d is %s (%s), want %s", cells[0], cells[2], cells[1], i+1,
					got, at, want)
				break
			}
		}
	}
	if rows < 400 {
		t.Errorf("%d rows", rows)
	}
}

func parsed(t interface{ Fatal(...any) }, text string) *Cron {
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNextByMinute holds due times to a walk through all minutes, which asks for each what clocks show.
func TestNextByMinute(t *testing.T) {
	changes := map[string]time.Time{
		"Europe/Berlin":       time.Date(2024, 3, 31, 1, 0, 0, 0, time.UTC),
		"America/New_York":    time.Date(2024, 11, 3, 6, 0, 0, 0, time.UTC),
		"Australia/Lord_Howe": time.Date(2024, 4, 6, 15, 0, 0, 0, time.UTC),
		"America/Sao_Paulo":   time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC),
		"Africa/Cairo":        time.Date(2024, 10, 31, 21, 0, 0, 0, time.UTC),
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
			"America/Sao_Paulo", "Africa/Cairo"}).Draw(t, "zone")
		minute, hour := rapid.IntRange(-3, 59).Draw(t, "minute"), rapid.IntRange(-1, 23).Draw(t, "hour")
		step := -minute * 10
		expression := fmt.Sprintf("%d %d * * *", minute, hour)
		switch {
		case minute < 0 && hour < 0:
			expression = fmt.Sprintf("*/%d * * * *", step)
		case minute < 0:
			expression = fmt.Sprintf("*/%d %d * * *", step, hour)
		case hour < 0:
			expression = fmt.Sprintf("%d * * * *", minute)
		}
		matches := func(wall time.Time) bool {
			return (minute < 0 && wall.Minute()%step == 0 || wall.Minute() == minute) &&
				(hour < 0 || wall.Hour() == hour)
		}
		loc, c := zone(t, name), parsed(t, expression)
		begin := changes[name].Add(time.Duration(rapid.IntRange(-300, 120).Draw(t, "begin")) * time.Minute)
		var want, got []time.Time
		_, offset := begin.Add(-24 * time.Hour).In(loc).Zone()
		shown := onWall(begin.Add(-24*time.Hour), offset)
		for at := begin.Add(-24 * time.Hour); at.Before(begin.Add(48 * time.Hour)); at = at.Add(time.Minute) {
			_, offset := at.In(loc).Zone()
			wall, due := onWall(at, offset), false
			if minute < 0 || hour < 0 {
				due = matches(wall)
			} else {
				for ; shown.Before(wall); due = due || matches(shown) {
					shown = shown.Add(time.Minute)
				}
			}
			if due && at.After(begin) {
				want = append(want, at)
			}
		}
		for at := c.Next(begin, loc); at.Before(begin.Add(48 * time.Hour)); at = c.Next(at, loc) {
			got = append(got, at.UTC())
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s, %q after %s:\n%v, want\n%v", name, expression, begin, got, want)
		}
		if len(want) > 0 {
			if got := c.Newest(begin, begin.Add(48*time.Hour-time.Minute), loc); !got.Equal(want[len(want)-1]) {
				t.Fatalf("the newest is %s, want %s", got, want[len(want)-1])
			}
		}
	})
}

func TestParse(t *testing.T) {
	for text, words := range map[string]string{
		"":                  "expected five fields",
		"0 6 * *":           "expected five fields",
		"0 0 6 * * *":       "expected five fields",
		"@":                 "expected five fields",
		"@every 5m":         "expected five fields",
		"TZ=UTC 0 6 * * *":  "expected five fields",
		"61 6 * * *":        `minute "61"`,
		"0 6 * * mox":       `day of the week "mox"`,
		"0 6 31 feb *":      "there is no such day",
		"0 6 30 2 *":        "there is no such day",
		"*/0 * * * *":       "minute",
		"0 H * * *":         "hour",
		"TZ=../x 6 * * sun": "minute",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want: %s", text, err, words)
		}
	}
	for _, text := range []string{"@daily", "@hourly", "0 6 * * MON-fri", "0  6 1,15 */2 7", "0 0 29 2 *",
		"0 22-2 * * *"} {
		parsed(t, text)
	}
}

// TestFar: after 2037, where the tables of zones end, the library's rule is asked in each year.
func TestFar(t *testing.T) {
	at, c := time.Date(2039, 1, 1, 0, 0, 0, 0, time.UTC), parsed(t, "0 6 29 2 *")
	for _, want := range []string{"2040-02-29", "2044-02-29", "2048-02-29"} {
		if at = c.Next(at, zone(t, "Europe/Berlin")); at.Format(time.DateOnly) != want {
			t.Fatalf("%s, want %s", at, want)
		}
	}
}

func TestExpand(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	due := time.Date(2027, 1, 2, 22, 59, 0, 0, time.UTC).In(berlin)
	for text, want := range map[string]string{
		"{{date}} {{ date }} {{time}}": "2027-01-02 2027-01-02 2359",
		"{{year}}/{{month}}/{{day}}":   "2027/01/02",
		"{{week}}":                     "2026-W53",
		"{{datetime}} {{unix}}":        "2027-01-02T23:59:00+01:00 1798930740",
		"{date} {{else}} {{":           "{date} {{else}} {{",
	} {
		if got := Expand(text, due); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := ExpandPath("runs/{date}-{region}-{{run_id}}-{{week}}.md", due); got !=
		"runs/2027-01-02-{region}-{{run_id}}-2026-W53.md" {
		t.Error(got)
	}
	if got := Unknown("{{date}} {{dat}}"); got != "dat" {
		t.Error(got)
	}
}
