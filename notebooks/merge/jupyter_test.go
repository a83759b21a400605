package merge

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// jsonOf writes a notebook as Jupyter does; a cell is "id|text|output", ; is a new line.
func jsonOf(minor int, meta string, cells ...string) string {
	var b strings.Builder
	b.WriteString("{\n \"cells\": [")
	for i, c := range cells {
		parts := strings.Split(c+"||", "|")
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": ")
		if parts[2] == "" {
			b.WriteString("null")
		} else {
			fmt.Fprint(&b, len(parts[2]))
		}
		if minor >= 5 {
			fmt.Fprintf(&b, ",\n   \"id\": %q", parts[0])
		}
		b.WriteString(",\n   \"metadata\": {},\n   \"outputs\": [")
		if parts[2] != "" {
			fmt.Fprintf(&b, "\n    {\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n"+
				"     \"text\": [\n      %q\n     ]\n    }\n   ", parts[2])
		}
		b.WriteString("],\n   \"source\": [")
		lines := strings.SplitAfter(strings.ReplaceAll(parts[1], ";", "\n"), "\n")
		for n, l := range lines {
			if n > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "\n    %q", l)
		}
		b.WriteString("\n   ]\n  }")
	}
	if len(cells) > 0 {
		b.WriteString("\n ")
	}
	fmt.Fprintf(&b, "],\n \"metadata\": %s,\n \"nbformat\": 4,\n \"nbformat_minor\": %d\n}\n", meta, minor)
	return b.String()
}

const meta = "{\n  \"kernelspec\": {\n   \"name\": \"python3\"\n  }\n }"

// TestJupyter merges cells.
func TestJupyter(t *testing.T) {
	base := jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x)|two", "c|plot(x)|three")
	for name, c := range map[string]struct {
		ours, theirs, want string
		opt                Options
		conflicts          string
	}{
		"two cells": {
			ours:   jsonOf(5, meta, "a|x = 10;y = 2;z = 3|ten", "b|print(x)|two", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x)|two", "c|plot(x, y)|four"),
			want:   jsonOf(5, meta, "a|x = 10;y = 2;z = 3|ten", "b|print(x)|two", "c|plot(x, y)|four"),
		},
		"two lines of one cell": { // its outputs are of neither text
			ours:   jsonOf(5, meta, "a|x = 10;y = 2;z = 3|ten", "b|print(x)|two", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 30|one", "b|print(x)|two", "c|plot(x)|three"),
			want:   jsonOf(5, meta, "a|x = 10;y = 2;z = 30|", "b|print(x)|two", "c|plot(x)|three"),
		},
		"one line": {
			ours:   jsonOf(5, meta, "a|x = 10;y = 2;z = 3|ten", "b|print(x)|two", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 11;y = 2;z = 3|one", "b|print(x)|two", "c|plot(x)|three"),
			want: jsonOf(5, meta, "a|<<<<<<< ours;x = 10;=======;x = 11;>>>>>>> theirs;y = 2;z = 3|", "b|print(x)|two",
				"c|plot(x)|three"),
			conflicts: "cell 1, line 1: both sides changed the same lines",
		},
		"only run": {
			ours:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|ours", "b|print(x)|two", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x)|theirs", "c|plot(x)|three"),
			want:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|ours", "b|print(x)|theirs", "c|plot(x)|three"),
		},
		"moved, and edited": {
			ours:   jsonOf(5, meta, "b|print(x)|two", "c|plot(x)|three", "a|x = 1;y = 2;z = 3|one"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 4|", "b|print(x)|two", "c|plot(x)|three"),
			want:   jsonOf(5, meta, "b|print(x)|two", "c|plot(x)|three", "a|x = 1;y = 2;z = 4|"),
		},
		"taken out, and edited": {
			ours:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x, y)|two", "c|plot(x)|three"),
			want: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|<<<<<<< ours;=======;print(x, y);>>>>>>> theirs|",
				"c|plot(x)|three"),
			conflicts: "cell 2, line 1: theirs changed it, and ours took it out",
		},
		"taken out, and edited; ours is preferred": {
			ours:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x, y)|two", "c|plot(x)|three"),
			want:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "c|plot(x)|three"), opt: Options{Favor: Ours},
		},
		"taken out, and only run": {
			ours:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "c|plot(x)|three"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x)|again", "c|plot(x)|three"),
			want:   jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "c|plot(x)|three"),
		},
		"both added": {
			ours: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "o|ours()|", "b|print(x)|two", "c|plot(x)|three",
				"same1|both()|"),
			theirs: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "t|theirs()|", "b|print(x)|two", "c|plot(x)|three",
				"same1|both()|"),
			want: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "o|ours()|", "t|theirs()|",
				"b|print(x)|two", "c|plot(x)|three",
				"same1|both()|"),
		},
		"metadata": {
			ours: jsonOf(5, strings.Replace(meta, "{\n", "{\n  \"a\": 1,\n", 1),
				"a|x = 1;y = 2;z = 3|one", "b|print(x)|two",
				"c|plot(x)|three"),
			theirs: jsonOf(5, "{\n  \"kernelspec\": {\n   \"name\": \"other\"\n  }\n }", "a|x = 1;y = 2;z = 3|one",
				"b|print(x)|two", "c|plot(x)|three"),
			want: jsonOf(5, strings.Replace(strings.Replace(meta, "{\n", "{\n  \"a\": 1,\n", 1), "python3", "other", 1),
				"a|x = 1;y = 2;z = 3|one", "b|print(x)|two", "c|plot(x)|three"),
		},
		"metadata that both changed": {
			ours: jsonOf(5, strings.Replace(meta, "python3", "one", 1), "a|x = 1;y = 2;z = 3|one", "b|print(x)|two",
				"c|plot(x)|three"),
			theirs: jsonOf(5, strings.Replace(meta, "python3", "two", 1), "a|x = 1;y = 2;z = 3|one", "b|print(x)|two",
				"c|plot(x)|three"),
			want: jsonOf(5, clashing(strings.Replace(meta, "python3", "one", 1),
				`[{"key": "kernelspec", "op": "patch", "diff": [{"key": "name", "op": "replace", "value": "one"}]}]`,
				`[{"key": "kernelspec", "op": "patch", "diff": [{"key": "name", "op": "replace", "value": "two"}]}]`),
				"a|x = 1;y = 2;z = 3|one", "b|print(x)|two", "c|plot(x)|three"),
			conflicts: `the notebook's metadata.kernelspec.name: ours has "one", theirs has "two"; ours was kept`,
		},
		"one id for two cells": {
			ours: jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "n|new()|", "b|print(x)|two", "c|plot(x)|three"),
			theirs: strings.Replace(jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "b|print(x)|two",
				"c|plot(x)|three", "n|new()|"),
				`"cell_type": "code",`+"\n   \"execution_count\": null,\n   \"id\": \"n\"",
				"\"cell_type\": \"raw\",\n   \"execution_count\": null,\n   \"id\": \"n\"", 1),
			want: strings.Replace(jsonOf(5, meta, "a|x = 1;y = 2;z = 3|one", "n|new()|",
				"b|print(x)|two", "c|plot(x)|three",
				"n-2|new()|"), `"cell_type": "code",`+"\n   \"execution_count\": null,\n   \"id\": \"n-2\"",
				"\"cell_type\": \"raw\",\n   \"execution_count\": null,\n   \"id\": \"n-2\"", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.opt.Jupyter, c.opt.Name = true, "a.ipynb"
			got, err := notebooksBySteps([]byte(base), []byte(c.ours), []byte(c.theirs), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Bytes) != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got.Bytes, c.want)
			}
			var conflicts []string
			for _, c := range got.Conflicts {
				conflicts = append(conflicts, c.String())
			}
			if strings.Join(conflicts, "\n") != c.conflicts {
				t.Errorf("conflicts: %q, want %q", conflicts, c.conflicts)
			}
		})
	}
}

// clashing is metadata with what could not be merged.
func clashing(metadata, local, remote string) string {
	return strings.TrimSuffix(metadata, "\n }") + ",\n  \"nbdime-conflicts\": {\"local_diff\": " + local +
		", \"remote_diff\": " + remote + "}\n }"
}

// TestJupyterIDs adds cell ids if the merged notebook's format requires them.
func TestJupyterIDs(t *testing.T) {
	base := jsonOf(4, meta, "|a|", "|b|")
	got, err := notebooksBySteps([]byte(base), []byte(jsonOf(5, meta, "1|a|", "2|b|")),
		[]byte(jsonOf(4, meta, "|a|", "|b|", "|new|")), Options{Jupyter: true})
	if err != nil {
		t.Fatal(err)
	}
	nb, err := ipynb.Parse("a.ipynb", got.Bytes)
	if err != nil || !codec.Raw(got.Bytes).IsValid() || nb.Minor != 5 || len(nb.Cells) != 3 {
		t.Fatalf("%v\n%s", err, got.Bytes)
	}
	for _, c := range nb.Cells {
		if c.ID == "" {
			t.Errorf("a cell has no id:\n%s", got.Bytes)
		}
	}
}

// TestJupyterOfNoBase merges a notebook that both sides added.
func TestJupyterOfNoBase(t *testing.T) {
	got, err := Notebooks(nil, []byte(jsonOf(5, meta, "a|one|", "b|two|")),
		[]byte(jsonOf(5, meta, "a|one|", "c|three|")),
		Options{Jupyter: true})
	if want := jsonOf(5, meta, "a|one|", "b|two|", "c|three|"); err != nil || string(got.Bytes) != want ||
		len(got.Conflicts) > 0 {
		t.Errorf("%v, %v\n%s", err, got.Conflicts, got.Bytes)
	}
}

// TestJupyterSpelling keeps the spelling of unchanged lines in a cell that both sides changed.
func TestJupyterSpelling(t *testing.T) {
	spelled := func(text string) []byte { return []byte(strings.ReplaceAll(text, "middle", `\u00e9\/`)) }
	got, err := Notebooks(spelled(jsonOf(5, meta, "a|one;middle;three|")),
		spelled(jsonOf(5, meta, "a|1;middle;three|")),
		spelled(jsonOf(5, meta, "a|one;middle;3|")), Options{Jupyter: true})
	if want := spelled(jsonOf(5, meta, "a|1;middle;3|")); err != nil || string(got.Bytes) != string(want) {
		t.Errorf("%v\n%s", err, got.Bytes)
	}
}
