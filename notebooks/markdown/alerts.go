package markdown

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/expr"
)

// alerts reads the key alerts: {on: [critical, "loss > 0.5"], to: [ops], by: [host]}.
func alerts(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("expected {on: [fail, recover, critical], to: [NAME]}, with a target of markmill.yaml")
	}
	a := &notebooks.Alerts{}
	lists := map[string]*[]string{"on": &a.On, "to": &a.To, "by": &a.By}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, resolve(n.Content[i+1])
		switch {
		case lists[key] == nil:
			return unknownWord("key", key, "on", "to", "by")
		case key == "to" && (value.Kind == yaml.MappingNode || slices.ContainsFunc(value.Content,
			func(item *yaml.Node) bool { return resolve(item).Kind != yaml.ScalarNode })):
			return errors.New("to: has names of targets; markmill.yaml says what they are (alerts: {ops: {webhook: " +
				"…}}), so that whoever changes a notebook cannot choose who is called")
		}
		if err := setTexts(value, lists[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if len(a.On) == 0 || len(a.To) == 0 {
		return errors.New(
			"expected on: with what is told, and to: with whom; such as {on: [critical, recover], to: [ops]}")
	}
	for _, word := range a.On {
		if slices.Contains(notebooks.AlertWords, word) {
			continue
		}
		if _, err := expr.Parse(word); err != nil {
			return fmt.Errorf("on: %s is neither one of %s nor an expression: %w", quote(word),
				strings.Join(notebooks.AlertWords, ", "), err)
		}
		// A bare name would be a scrap. It is rather a word that was misspelled.
		if near := notebooks.Suggest(word, notebooks.AlertWords); near != "" {
			return fmt.Errorf("on: %s is not known; did you mean %s? A scrap is scraps.%s", quote(word), near, word)
		}
	}
	f.Alerts = a
	return nil
}

// objectives reads the key objectives: {uptime: 99.5, p95-ms: 2000, window: 30d}.
func objectives(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("expected {uptime: 99.5, p95-ms: 2000, window: 30d}")
	}
	o := &notebooks.Objectives{Window: notebooks.DefaultWindow}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, scalar(resolve(n.Content[i+1]))
		switch number, err := strconv.ParseFloat(value, 64); key {
		case "uptime":
			if o.Uptime = number; err != nil || !(number > 0 && number <= 100) {
				return fmt.Errorf("uptime: expected a percentage above 0, up to 100, got %s", quote(value))
			}
		case "p95-ms":
			if o.P95 = time.Duration(number * float64(time.Millisecond)); err != nil || !(number > 0 && number < 1e12) {
				return fmt.Errorf("p95-ms: expected milliseconds above 0, got %s", quote(value))
			}
		case "window":
			if o.Window, err = window(value); err != nil {
				return err
			}
		default:
			return unknownWord("objective", key, "uptime", "p95-ms", "window")
		}
	}
	if o.Uptime == 0 && o.P95 == 0 {
		return errors.New("expected an objective: uptime or p95-ms")
	}
	f.Objectives = o
	return nil
}

// window reads a time of whole days, as 30d, or a Go duration.
func window(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, is := strings.CutSuffix(text, "d"); is {
		n, notWhole := strconv.Atoi(days)
		d, err = time.Duration(n)*24*time.Hour, notWhole
	}
	if err != nil || d < time.Minute || d > 366*24*time.Hour {
		return 0, fmt.Errorf("window: expected a time from 1m to 366d, such as 30d or 12h, got %s", quote(text))
	}
	return d, nil
}
