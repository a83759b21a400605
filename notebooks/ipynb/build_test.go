package ipynb

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// draftOf returns a draft with everything that a notebook of nbformat 4 holds.
func draftOf(nb *Notebook) *Draft {
	d := &Draft{Metadata: nb.Metadata.Raw}
	for i := range nb.Cells {
		c := &nb.Cells[i]
		cell := DraftCell{Type: c.Type, ID: c.ID, Source: c.Source, Metadata: c.Metadata.Raw,
			Attachments: c.Attachments.Raw,
			Outputs:     c.OutputsAt.Raw}
		cell.Count, _ = strconv.Atoi(string(c.Count.Raw))
		d.Cells = append(d.Cells, cell)
	}
	return d
}

// TestDraftMatchesNbformat rebuilds notebooks that nbformat printed.
func TestDraftMatchesNbformat(t *testing.T) {
	same := 0
	for name, src := range corpus(t) {
		nb, err := Parse(name, src)
		if err != nil || nb.NBFormat != 4 {
			continue
		}
		got, err := draftOf(nb).Bytes()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Parse(name, got)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(again.Cells) != len(nb.Cells) || !equalJSON(t, again.Metadata.Raw, nb.Metadata.Raw) {
			t.Errorf("%s changed when rebuilt", name)
			continue
		}
		for i := range nb.Cells {
			a, b := &nb.Cells[i], &again.Cells[i]
			if a.Source != b.Source || a.Type != b.Type || len(a.Outputs) != len(b.Outputs) ||
				a.ID != "" && a.ID != b.ID {
				t.Errorf("%s: cell %d changed", name, i+1)
			}
		}
		if nb.Minor == 5 && bytes.Equal(got, src) {
			same++
		}
		if fixed, err := draftOf(again).Bytes(); err != nil || !bytes.Equal(fixed, got) {
			t.Errorf("%s: the second build differs: %v", name, err)
		}
	}
	if same < 3 {
		t.Errorf("only %d corpus notebooks were rebuilt unchanged", same)
	}
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func TestDraftText(t *testing.T) {
	d := Draft{
		Metadata: []byte(`{"z": 1.50, "a": {"é": "</p>\u00e9\u0001"}, "n": NaN}`),
		Cells: []DraftCell{
			{Type: "markdown", Source: "a\nb\r\nc\u2028d",
				Attachments: []byte(`{"x.png": {"image/png": ["QQ", "=="], "text/plain": "l1\nl2"}}`)},
			{Type: "code", ID: "the step", Source: "x = 1\n", Count: 3,
				Outputs: []byte(`[{"output_type": "stream", "name": "stdout", "text": "a\nb"},
				{"data": {"application/json": "a\nb", "text/html": "<p>\n</p>"}, "metadata": {}, ` +
					`"output_type": "display_data"}]`)},
			{Type: "raw", ID: "the-step", Metadata: []byte(`{"b": [], "a": [1, {}]}`)},
		},
	}
	got, err := d.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`{
 "cells": [
  {
   "attachments": {
    "x.png": {
     "image/png": "QQ==",
     "text/plain": [
      "l1\n",
      "l2"
     ]
    }
   },
   "cell_type": "markdown",
   "id": "ID",
   "metadata": {},
   "source": [
    "a\n",
    "b\r\n",
    "cLS",
    "d"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "the-step-2",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "a\n",
      "b"
     ]
    },
    {
     "data": {
      "application/json": "a\nb",
      "text/html": [
       "<p>\n",
       "</p>"
      ]
     },
     "metadata": {},
     "output_type": "display_data"
    }
   ],
   "source": [
    "x = 1\n"
   ]
  },
  {
   "cell_type": "raw",
   "id": "the-step",
   "metadata": {
    "a": [
     1,
     {}
    ],
    "b": []
   },
   "source": []
  }
 ],
 "metadata": {
  "a": {
   "é": "</p>é\u0001"
  },
  "n": NaN,
  "z": 1.50
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`, "LS", "\u2028")
	if got := regexp.MustCompile(`"id": "[0-9a-f]{8}"`).ReplaceAllString(string(got), `"id": "ID"`); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestDraftRejects(t *testing.T) {
	for want, d := range map[string]Draft{
		"the metadata of the notebook must be an object": {Metadata: []byte(`[]`)},
		`cell 1: "heading" is no type of cell`:           {Cells: []DraftCell{{Type: "heading"}}},
		"cell 1: the metadata must be an object":         {Cells: []DraftCell{{Type: "code", Metadata: []byte(`1`)}}},
		"cell 1: the metadata: offset 1":                 {Cells: []DraftCell{{Type: "code", Metadata: []byte(`{`)}}},
		"cell 1: the outputs must be a list":             {Cells: []DraftCell{{Type: "code", Outputs: []byte(`{}`)}}},
		"cell 1: an output must be an object":            {Cells: []DraftCell{{Type: "code", Outputs: []byte(`[1]`)}}},
		"cell 2: a raw cell has no outputs":              {Cells: []DraftCell{{Type: "code"}, {Type: "raw", Count: 1}}},
		"cell 1: a code cell has no attachments": {Cells: []DraftCell{{Type: "code",
			Attachments: []byte(`{}`)}}},
	} {
		if _, err := d.Bytes(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9-_]{1,64}$`)

// checkDraft checks what is promised of every draft that can be printed.
func checkDraft(t interface{ Fatalf(string, ...any) }, d *Draft) {
	got, err := d.Bytes()
	if err != nil {
		return
	}
	nb, err := Parse("built", got)
	if err != nil {
		t.Fatalf("what was built cannot be read: %v\n%s", err, got)
	}
	if nb.NBFormat != 4 || nb.Minor != 5 || len(nb.Cells) != len(d.Cells) || len(nb.Warnings) > 0 {
		t.Fatalf("nbformat %d.%d, %d cells of %d, warnings %v", nb.NBFormat, nb.Minor, len(nb.Cells), len(d.Cells),
			nb.Warnings)
	}
	ids := map[string]bool{}
	for i := range nb.Cells {
		c, want := &nb.Cells[i], &d.Cells[i]
		if c.Source != strings.ToValidUTF8(want.Source, "\uFFFD") && c.Source != string([]rune(want.Source)) ||
			c.Type != want.Type {
			t.Fatalf("cell %d is %s %q and should be %s %q", i, c.Type, c.Source, want.Type, want.Source)
		}
		if !idPattern.MatchString(c.ID) || ids[c.ID] {
			t.Fatalf("cell %d has the id %q", i, c.ID)
		}
		ids[c.ID] = true
	}
	again, err := d.Bytes()
	if err != nil || !bytes.Equal(got, again) {
		t.Fatalf("the same draft gives other bytes")
	}
	if built, err := draftOf(nb).Bytes(); err != nil || !bytes.Equal(built, got) {
		t.Fatalf("what was read is built otherwise: %v\n%s\n%s", err, got, built)
	}
}

func TestDraftProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &Draft{Metadata: []byte(rapid.SampledFrom([]string{"", "{}", `{"b": 1, "a": [true, null, "x"]}`}).Draw(t,
			"metadata"))}
		for range rapid.IntRange(0, 6).Draw(t, "cells") {
			c := DraftCell{
				Type: rapid.SampledFrom([]string{"code", "markdown", "raw"}).Draw(t, "type"),
				ID: rapid.SampledFrom([]string{"", "a", "a b", "a-b", "é",
					strings.Repeat("x", 64), strings.Repeat("x", 65),
					strings.Repeat("x", 62) + "-2", "a-2"}).Draw(t, "id"),
				Source: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\n",
					"a\r\nb\rc\x0b\x0c\x1c\u0085\u2028\u2029\n\n"})).Draw(t, "source"),
				Metadata: []byte(rapid.SampledFrom([]string{"", "{}", `{"tags": ["t"]}`}).Draw(t, "cell metadata")),
			}
			if c.Type == "code" {
				c.Count = rapid.IntRange(0, 3).Draw(t, "count")
				text, _ := json.Marshal(rapid.String().Draw(t, "text"))
				c.Outputs = []byte(rapid.SampledFrom([]string{"", "[]",
					`[{"output_type":"stream","name":"stdout","text":` +
						string(text) + `}]`}).Draw(t, "outputs"))
			}
			d.Cells = append(d.Cells, c)
		}
		if _, err := d.Bytes(); err != nil {
			t.Fatalf("refused: %v", err)
		}
		checkDraft(t, d)
	})
}

// An id made from a text is stable: cellID of it returns it unchanged. A text cut to nothing but dashes gets no id.
func TestIDsFromText(t *testing.T) {
	for text, want := range map[string]string{"a b": "a-b", "é": "", strings.Repeat("é", 70) + "A": "",
		strings.Repeat("é", 63) + "AB": strings.Repeat("-", 63) + "A"} {
		if got := cellID(text); got != want || cellID(got) != got {
			t.Errorf("%q: %q, and from that %q", text, got, cellID(got))
		}
	}
}

func FuzzDraft(f *testing.F) {
	f.Add("code", "id", "x\n", `{"a":1}`, `[{"output_type":"stream","text":["a"]}]`)
	f.Add("markdown", "", "\xff\u2028", `{"a":{"image/png":["x"]}}`, ``)
	f.Fuzz(func(t *testing.T, kind, id, source, object, outputs string) {
		d := &Draft{Metadata: []byte(object), Cells: []DraftCell{{Type: kind, ID: id, Source: source,
			Metadata: []byte(object)}, {Type: "raw", ID: id}}}
		if kind == "code" {
			d.Cells[0].Outputs = []byte(outputs)
		} else {
			d.Cells[0].Attachments = []byte(object)
		}
		checkDraft(t, d)
	})
}
