package ipynb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"markmill/notebooks/codec"
)

// odd is a notebook with details that rewriting programs often lose.
const odd = `{"nbformat_minor": 5, "zebra": [1.50, 1e3, -0, "\u00e9\/"], "metadata": {"widgets": ` +
	`{"application/vnd.jupyter.widget-state+json": {"version_major": 2, "version_minor": 0, ` +
	`"state": {"b": {}, "a": {"n": 1.0}}}},
 "markmill": {"front": {"title": "T"}}, "kernelspec": {"name": "python3", "display_name": "P", "language": "python"}},
 "cells": [{"source": "![p](attachment:p.png)", "attachments": {"p.png": {"image/png": "iVBORw0KGgo="}}, "metadata": ` +
	`{"my": {"z": 1, "a": 2}}, "id": "one", "cell_type": "markdown", "unknown": {"y": null}},
  {"outputs": [], "unknown": "kept", "id": "two", "execution_count": null, "metadata": {"tags": ["b", "a"], ` +
	`"markmill": {"timeout": "3s"}, "collapsed": true}, "source": ["1"], "cell_type": "code"},
  {"cell_type": "raw", "id": "three", "metadata": {"raw_mimetype": "text/x"}, "source": ""}],
 "nbformat": 4, "last": true}`

// rest lists everything in a notebook except what a run adds, in order.
func rest(t *testing.T, text []byte) []string {
	t.Helper()
	var out []string
	var walk func(c *codec.Cursor, path string)
	walk = func(c *codec.Cursor, path string) {
		switch c.Kind() {
		case '{':
			var names []string
			_, err := c.Object(func(name []byte, _ codec.Span) error {
				inner := path + "." + string(name)
				switch {
				case strings.HasSuffix(inner, "metadata.markmill"):
					span, err := c.Skip()
					own := Members(Value{Raw: span.Of(text)})
					if own = slices.DeleteFunc(own,
						func(m Member) bool { return slices.Contains(results, m.Name) }); len(own) > 0 {
						names = append(names, string(name))
						out = append(out, fmt.Sprintf("%s %s", inner, own[0].Name))
					}
					return err
				case strings.HasSuffix(inner, "metadata.papermill"), inner == ".metadata.widgets",
					inner == ".cells.outputs", inner == ".cells.execution_count", inner == ".cells.metadata.execution":
					_, err := c.Skip()
					return err
				}
				names = append(names, string(name))
				walk(c, inner)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s {%q}", path, names))
		case '[':
			if _, err := c.Array(func() error { walk(c, path); return nil }); err != nil {
				t.Fatal(err)
			}
			out = append(out, path+" []")
		default:
			span, err := c.Skip()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, path+" "+string(span.Of(text)))
		}
	}
	start := 0
	if strings.HasPrefix(string(text), string(byteOrderMark)) {
		start = len(byteOrderMark)
	}
	walk(codec.NewCursor(text, start), "")
	return out
}

// A run keeps ids, attachments, unknown names, their order, and the spelling of every value.
func TestRunKeepsTheRest(t *testing.T) {
	files := map[string][]byte{"odd": []byte(odd)}
	if !t.Run("corpus", func(t *testing.T) {
		for name, text := range corpus(t) {
			files[name] = text
		}
	}) {
		t.FailNow()
	}
	for name, text := range files {
		nb, err := Parse(name, text)
		if err != nil || nb.NBFormat != 4 {
			continue
		}
		if slices.ContainsFunc(nb.Cells, func(c Cell) bool {
			return added(&c) || c.Tagged(tagError) ||
				c.Metadata.Raw == nil
		}) || nb.Metadata.Raw == nil {
			continue // cells of a run, or invalid metadata
		}
		bare, err := Parse(name, Source(nb, false))
		if err != nil {
			t.Fatal(err)
		}
		r := resultOf(t, bare)
		r.Added = nil
		output, err := bare.With(r)
		if err != nil {
			t.Fatal(err)
		}
		want, got := rest(t, text), rest(t, output)
		if !slices.Equal(want, got) {
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Errorf("%s: %d and %d values; the first difference is\n%s\nit was\n%s",
						name, len(got), len(want),
						append(got, make([]string, len(want))...)[i], want[i])
					break
				}
			}
		}
	}
}
