package markdown

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/schedule"
)

// mistakeAt is a mistake within the value of a key.
type mistakeAt struct {
	node *yaml.Node
	hint string
	error
}

// pairsOf are the keys and values of a mapping.
func pairsOf(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], resolve(n.Content[i+1])) {
				return
			}
		}
	}
}

var scheduleKeys = []string{"cron", "timezone", "params", "output", "overlap", "catch-up", "commit"}

// readSchedule reads the key schedule: a mapping, or a cron expression alone.
func readSchedule(f *notebooks.Front, n *yaml.Node) error {
	s := &notebooks.Schedule{Timezone: "UTC", Overlap: notebooks.OverlapSkip, CatchUp: notebooks.CatchUpOnce}
	if n.Kind == yaml.ScalarNode {
		if _, err := schedule.Parse(n.Value); err != nil {
			return err
		}
		s.Cron, f.Schedule = n.Value, s
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return errors.New(`expected a mapping, such as {cron: "0 6 * * *", timezone: Europe/Berlin}`)
	}
	seen := map[string]bool{}
	for key, value := range pairsOf(n) {
		name := key.Value
		if seen[name] {
			return &mistakeAt{key, "keep one", fmt.Errorf("the key %s stands twice", quote(name))}
		}
		seen[name] = true
		hint, err := scheduleKey(s, name, value)
		if in := (*mistakeAt)(nil); errors.As(err, &in) {
			return in
		}
		if err != nil {
			place := value
			if !slices.Contains(scheduleKeys, name) {
				place = key
			}
			return &mistakeAt{place, hint, err}
		}
	}
	switch {
	case !seen["cron"]:
		return &mistakeAt{n, `write cron: "0 6 * * *"`, errors.New("cron is missing, which says when")}
	case s.Commit != "" && s.Output == "":
		return &mistakeAt{n, "write output: reports/{{date}}.md",
			errors.New("commit: needs output:, the file in the branch")}
	}
	f.Schedule = s
	return nil
}

// scheduleKey reads one key of a schedule.
func scheduleKey(s *notebooks.Schedule, name string, value *yaml.Node) (hint string, err error) {
	text := map[string]*string{"cron": &s.Cron, "timezone": &s.Timezone, "output": &s.Output, "commit": &s.Commit}[name]
	if text != nil {
		if err := setText(value, text); err != nil || strings.TrimSpace(*text) == "" {
			return "", fmt.Errorf("%s: expected text", name)
		}
	}
	within := func(err error) error {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return err
	}
	switch name {
	case "timezone", "commit": // whether they exist is for the engine to say
	case "cron":
		_, err = schedule.Parse(s.Cron)
	case "output":
		if path.IsAbs(s.Output) || slices.Contains(strings.Split(path.Clean(s.Output), "/"), "..") {
			return "", within(fmt.Errorf("%s leads out of the repository: expected a path from its root",
				quote(s.Output)))
		}
	case "overlap":
		err = oneOf(value, &s.Overlap, notebooks.OverlapSkip, notebooks.OverlapQueue, notebooks.OverlapCancel)
	case "catch-up":
		err = oneOf(value, &s.CatchUp, notebooks.CatchUpOnce, notebooks.CatchUpNone)
	case "params":
		if value.Kind != yaml.MappingNode {
			return `write params: {run_id: "{{date}}"}`, within(errors.New("expected names and values"))
		}
		for _, v := range pairsOf(value) {
			if unknown := schedule.Unknown(v.Value); unknown != "" {
				return "", &mistakeAt{v, "known are " + strings.Join(schedule.Words, ", "),
					within(fmt.Errorf("{{%s}} stands for nothing", unknown))}
			}
		}
		b, merr := yaml.Marshal(value)
		s.Params, err = string(b), merr
	default:
		hint = cmp.Or(notebooks.DidYouMean(name, scheduleKeys), "known are "+strings.Join(scheduleKeys, ", "))
		return hint, fmt.Errorf("unknown key %s", quote(name))
	}
	return "", within(err)
}
