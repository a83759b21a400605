package markdown

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
)

func TestSchedule(t *testing.T) {
	const step = "---\n\n```bash {#one}\ntrue\n```\n"
	read := func(front string) (*notebooks.Notebook, error) { return Parse("n.md", []byte("---\n"+front+step)) }
	for front, want := range map[string]string{
		"schedule: daily\n":                                  "n.md:2:11: schedule: expected five fields",
		"schedule: [a]\n":                                    "n.md:2:11: schedule: expected a mapping",
		"schedule: {timezone: UTC}\n":                        "n.md:2:11: schedule: cron is missing",
		"schedule:\n  cron: 0 25 * * *\n":                    `n.md:3:9: schedule: cron: hour "25"`,
		"schedule:\n  cron: @daily\n":                        "n.md:3:",
		"schedule: {cron: '@daily', cron: '@daily'}\n":       "n.md:2:28:",
		"schedule: {cron: '@daily', overlap: wait}\n":        "n.md:2:37: schedule: overlap: expected skip",
		"schedule: {cron: '@daily', catch-up: all}\n":        "n.md:2:38: schedule: catch-up: expected once, none",
		"schedule: {cron: '@daily', output: /tmp/x.md}\n":    "n.md:2:36: schedule: output: \"/tmp/x.md\" leads out",
		"schedule: {cron: '@daily', output: a/../../x}\n":    "n.md:2:36: schedule: output: \"a/../../x\" leads out",
		"schedule: {cron: '@daily', commit: pages}\n":        "n.md:2:11: schedule: commit: needs output:",
		"schedule: {cron: '@daily', params: [a]}\n":          "n.md:2:36: schedule: params: expected names and values",
		"schedule: {cron: '@daily', params: {a: '{{d}}'}}\n": "n.md:2:40: schedule: params: {{d}} stands for nothing",
		"schedule: {cron: '@daily', at: 6}\n":                `n.md:2:28: schedule: unknown key "at"; known are cron`,
	} {
		if _, err := read(front); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", front, err, want)
		}
	}
	nb, err := read("schedule: {cron: '0 6 * * *', params: {a: '{{date}}', b: [1, 017]}, output: 'x.md'}\n")
	if err != nil {
		t.Fatal(err)
	}
	s := nb.Front.Schedule
	if got := fmt.Sprint(s.Cron, s.Timezone, s.Overlap, s.CatchUp, s.Params, s.At["params"]); got !=
		"0 6 * * *UTCskiponce{a: '{{date}}', b: [1, 017]}\n{2 39}" {
		t.Errorf("%q", got)
	}
	if nb, err = read("schedule: '@daily'\n"); err != nil || nb.Front.Schedule.Cron != "@daily" {
		t.Errorf("%+v, %v", nb.Front.Schedule, err)
	}
}
