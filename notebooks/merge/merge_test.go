package merge

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

const plain = "# Report\n\nIntro.\n\n```bash {#load}\nfetch\nclean\n```\n\nThen fit.\n\n```bash {#fit}\nfit --fast\n" +
	"```\n\n```bash {#show}\nshow\n```\n"

// TestMarkdown merges steps and prose that changed in one way and another.
func TestMarkdown(t *testing.T) {
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(plain) }
	load, fit := "```bash {#load}\nfetch\nclean\n```\n\n", "```bash {#fit}\nfit --fast\n```\n\n"
	for name, c := range map[string]struct {
		base, ours, theirs string // base: plain without one
		opt                Options
		want               string
		conflicts          []string
	}{
		"two steps": {
			ours: edit("fetch\n", "fetch --all\n"), theirs: edit("fit --fast", "fit"),
			want: edit("fetch\n", "fetch --all\n", "fit --fast", "fit"),
		},
		"one step, two lines with another between": {
			base:   "```bash {#a}\n1\n2\n3\n```\n",
			ours:   "```bash {#a}\none\n2\n3\n```\n",
			theirs: "```bash {#a}\n1\n2\nthree\n```\n",
			want:   "```bash {#a}\none\n2\nthree\n```\n",
		},
		"one step, the same line": {
			ours: edit("fit --fast", "fit --slow"), theirs: edit("fit --fast", "fit --best"),
			want:      edit("fit --fast\n", "<<<<<<< ours\nfit --slow\n=======\nfit --best\n>>>>>>> theirs\n"),
			conflicts: []string{"step fit, line 13: both sides changed the same lines"},
		},
		"the base is shown": {
			ours: edit("fit --fast", "fit --slow"), theirs: edit("fit --fast", "fit --best"),
			opt: Options{Style: Diff3, MarkerSize: 9, Ours: "HEAD", Theirs: "side", Base: "abc"},
			want: edit("fit --fast\n", "<<<<<<<<< HEAD\nfit --slow\n||||||||| abc\nfit --fast\n"+
				"=========\nfit --best\n>>>>>>>>> side\n"),
			conflicts: []string{"step fit, line 13: both sides changed the same lines"},
		},
		"ours is preferred": {
			ours: edit("fit --fast", "fit --slow"), theirs: edit("fit --fast", "fit --best"), opt: Options{Favor: Ours},
			want: edit("fit --fast", "fit --slow"),
		},
		"both are taken": {
			ours: edit("fit --fast", "fit --slow"), theirs: edit("fit --fast", "fit --best"),
			opt:  Options{Favor: Together},
			want: edit("fit --fast", "fit --slow\nfit --best"),
		},
		"a step moved by one and edited by the other": {
			ours:   strings.Replace(edit(load, ""), "show\n```\n", "show\n```\n\n"+strings.TrimSuffix(load, "\n"), 1),
			theirs: edit("fetch\n", "fetch --all\n"),
			want: strings.Replace(edit(load, ""), "show\n```\n",
				"show\n```\n\n"+strings.Replace(strings.TrimSuffix(load, "\n"),
					"fetch", "fetch --all", 1), 1),
		},
		"both added a step at one place": {
			ours:   edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\na\n```\n\n"),
			theirs: edit("Then fit.\n\n", "Then fit.\n\n```bash {#b}\nb\n```\n\n"),
			want:   edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\na\n```\n\n```bash {#b}\nb\n```\n\n"),
		},
		"both added the same step": {
			ours:   edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\na\n```\n\n", "Intro", "Ours"),
			theirs: edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\na\n```\n\n"),
			want:   edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\na\n```\n\n", "Intro", "Ours"),
		},
		"both added another step under one id": {
			ours:   edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\none\n```\n\n"),
			theirs: edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\ntwo\n```\n\n"),
			want: edit("Then fit.\n\n", "Then fit.\n\n```bash {#a}\n<<<<<<< ours\none\n"+
				"=======\ntwo\n>>>>>>> theirs\n```\n\n"),
			conflicts: []string{"step a, line 13: both sides added it, with other lines"},
		},
		"taken out and edited": {
			ours: edit(fit, ""), theirs: edit("fit --fast", "fit --best"),
			want:      edit(fit, "<<<<<<< ours\n=======\n```bash {#fit}\nfit --best\n```\n>>>>>>> theirs\n"),
			conflicts: []string{"step fit, line 12: theirs changed it, and ours took it out"},
		},
		"taken out, and another one edited": {
			ours: edit(fit, ""), theirs: edit("fetch\n", "fetch --all\n"),
			want: edit(fit, "", "fetch\n", "fetch --all\n"),
		},
		"options of one step": {
			ours:   edit("{#fit}", "{#fit timeout=3}"),
			theirs: edit("{#fit}", "{#fit .test}", "fit --fast", "fit --best"),
			want:   edit("{#fit}", "{#fit .test timeout=3}", "fit --fast", "fit --best"),
		},
		"one option of one step": {
			ours: edit("{#fit}", "{#fit timeout=3}"), theirs: edit("{#fit}", "{#fit timeout=4}"),
			want: edit("```bash {#fit}\n", "<<<<<<< ours\n```bash {#fit timeout=3}\n=======\n"+
				"```bash {#fit timeout=4}\n>>>>>>> theirs\n"),
			conflicts: []string{"step fit, line 12: both sides changed the same lines"},
		},
		"a step is put into prose that the other side changes": {
			base:   "# A\n\none\ntwo\nthree\n",
			ours:   "# A\n\none\n\n```bash {#a}\na\n```\n\ntwo\nthree\n",
			theirs: "# A\n\none\ntwo\nthree!\n",
			want:   "# A\n\none\n\n```bash {#a}\na\n```\n\ntwo\nthree!\n",
		},
		"a step is put into prose that both change": {
			base:      "one\ntwo\nthree\n",
			ours:      "One\n\n```bash {#a}\na\n```\n\ntwo\nthree\n",
			theirs:    "ONE\ntwo\nthree\n",
			want:      "<<<<<<< ours\nOne\n\n=======\nONE\n>>>>>>> theirs\n```bash {#a}\na\n```\n\ntwo\nthree\n",
			conflicts: []string{"the lines between the steps, line 1: both sides changed the same lines"},
		},
		"a short step without an id, written anew": {
			base:      "```bash {.run}\na\n```\n\nmore\n",
			ours:      "```bash {.run}\nb\n```\n\nmore\n",
			theirs:    "```bash {.run}\nc\n```\n\nmore!\n",
			want:      "```bash {.run}\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n```\n\nmore!\n",
			conflicts: []string{"step step-1, line 2: both sides changed the same lines"},
		},
		"the form changes with the front matter": {
			base:   "---\njupyter:\n  kernelspec:\n    language: python\n---\n\n```python\n\n```\n",
			ours:   "---\njupyter:\n  kernelspec:\n    language: python\n---\n\n```python\nours\n```\n",
			theirs: "---\ntitle:\n  kernelspec:\n    language: python\n---\n\n```python\n\n```\n",
			want:   "---\ntitle:\n  kernelspec:\n    language: python\n---\n\n```python\nours\n```\n",
		},
		"both moved a step, to two places": {
			base: "```sh {#a}\n1\n```\n```sh {#b}\n2\n```\n```sh {#c}\n3\n```\n" +
				"```sh {#d}\n4\n```\n```sh {#e}\n5\n```\n",
			ours: "```sh {#b}\n2\n```\n```sh {#a}\n1\n```\n```sh {#c}\n3\n```\n" +
				"```sh {#d}\n4\n```\n```sh {#e}\n5\n```\n",
			theirs: "```sh {#b}\n2\n```\n```sh {#c}\n3\n```\n```sh {#d}\n4\n```\n" +
				"```sh {#e}\n5\n```\n```sh {#a}\n1\n```\n",
			want: "```sh {#b}\n2\n```\n```sh {#a}\n1\n```\n```sh {#c}\n3\n```\n" +
				"```sh {#d}\n4\n```\n```sh {#e}\n5\n```\n",
		},
		"a line that both changed alike, with the base shown": {
			base: "```sh {#a}\n1\n2\n3\n```\n", ours: "```sh {#a}\none\n2\n3\n```\n",
			theirs: "```sh {#a}\none\n2\nthree\n```\n", opt: Options{Style: Diff3},
			want: "```sh {#a}\none\n2\nthree\n```\n",
		},
		"front matter by its keys": {
			base:   "---\ntitle: A\nallow: [a]\n---\n\ntext\n",
			ours:   "---\ntitle: B\nallow: [a]\n---\n\ntext\n",
			theirs: "---\ntitle: A\nallow: [a, b]\nrequire: [tests]\n---\n\ntext!\n",
			want:   "---\ntitle: B\nallow: [a, b]\nrequire: [tests]\n---\n\ntext!\n",
		},
		"one key of the front matter": {
			base:      "---\ntitle: A\nallow: [a]\n---\n\ntext\n",
			ours:      "---\ntitle: B\nallow: [a]\n---\n\ntext\n",
			theirs:    "---\ntitle: C\nallow: [b]\n---\n\ntext\n",
			want:      "---\n<<<<<<< ours\ntitle: B\n=======\ntitle: C\n>>>>>>> theirs\nallow: [b]\n---\n\ntext\n",
			conflicts: []string{"front matter, line 2: both sides changed the same lines"},
		},
		"all line ends changed on one side": {
			ours: strings.ReplaceAll(plain, "\n", "\r\n"), theirs: edit("fit --fast", "fit --best"),
			want: strings.ReplaceAll(edit("fit --fast", "fit --best"), "\n", "\r\n"),
		},
		"no newline at the end": {
			ours: strings.TrimSuffix(plain, "\n"), theirs: edit("fetch\n", "fetch --all\n"),
			want: strings.TrimSuffix(edit("fetch\n", "fetch --all\n"), "\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.base == "" {
				c.base = plain
			}
			for _, text := range []string{c.ours, c.theirs} {
				if text == c.base {
					t.Fatal("a side is the base: the case tests nothing")
				}
			}
			got, err := notebooksBySteps([]byte(c.base), []byte(c.ours), []byte(c.theirs), c.opt)
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
			if strings.Join(conflicts, "\n") != strings.Join(c.conflicts, "\n") {
				t.Errorf("conflicts: %q, want %q", conflicts, c.conflicts)
			}
		})
	}
}

// ran returns an output notebook of a source, whose steps printed the given text.
func ran(t *testing.T, source, printed string) string {
	t.Helper()
	nb, err := markdown.Parse("a.md", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var regions []region.Region
	for _, s := range nb.Steps {
		regions = append(regions, region.Region{ID: string(s.ID), At: s.Fence.End,
			Body: []byte(printed + " " + string(s.Code) + "\n")})
	}
	return string(region.Splice([]byte(source), regions, notebooks.Manifest{Status: "pass"}))
}

// TestOutputsNeverConflict merges output notebooks.
func TestOutputsNeverConflict(t *testing.T) {
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(plain) }
	merged := func(t *testing.T, base, ours, theirs string) (region.Stripped, *Result) {
		t.Helper()
		got, err := notebooksBySteps([]byte(base), []byte(ours), []byte(theirs), Options{Name: "a.md"})
		if err != nil {
			t.Fatal(err)
		}
		s := region.Strip("a.md", got.Bytes)
		if len(s.Problems) > 0 {
			t.Fatalf("%v\n%s", s.Problems, got.Bytes)
		}
		return s, got
	}
	outputs := func(s region.Stripped) string {
		var out []string
		for _, r := range s.Regions {
			out = append(out, r.ID+": "+strings.Join(strings.Fields(string(r.Body)), " "))
		}
		return strings.Join(out, "; ")
	}
	base := ran(t, plain, "base")
	// If both outputs are equally good, their bytes decide, so that swapping the sides changes nothing.
	t.Run("both ran it", func(t *testing.T) {
		s, got := merged(t, base, ran(t, plain, "ours"), ran(t, plain, "theirs"))
		if want := "load: theirs fetch clean; fit: theirs fit --fast; show: theirs show"; outputs(s) != want ||
			s.Manifest.Status != "pass" || len(got.Conflicts) > 0 {
			t.Errorf("%s, %v", outputs(s), got.Conflicts)
		}
	})
	t.Run("each edited a step and ran it", func(t *testing.T) {
		s, got := merged(t, base, ran(t, edit("fetch\n", "fetch --all\n"), "ours"),
			ran(t, edit("fit --fast", "fit"), "theirs"))
		if want := edit("fetch\n", "fetch --all\n", "fit --fast", "fit"); string(s.Source) != want {
			t.Errorf("the source is\n%s", s.Source)
		}
		if want := "load: ours fetch --all clean; fit: theirs fit; show: theirs show"; outputs(s) != want ||
			s.Manifest.Status != Stale || len(got.Conflicts) > 0 {
			t.Errorf("%s, %s, %v", outputs(s), s.Manifest.Status, got.Conflicts)
		}
	})
	t.Run("both edited one step", func(t *testing.T) {
		s, got := merged(t, base, ran(t, edit("fetch\n", "fetch --all\n", "fit --fast", "fit 1"), "ours"),
			ran(t, edit("clean\n", "clean\nmore\n", "fit --fast", "fit 2"), "theirs"))
		if want := "show: theirs show"; outputs(s) != want || s.Manifest.Status != Stale || len(got.Conflicts) != 1 {
			t.Errorf("%s, %s, %v", outputs(s), s.Manifest.Status, got.Conflicts)
		}
	})
	t.Run("one side took the outputs out", func(t *testing.T) {
		s, _ := merged(t, base, edit("fetch\n", "fetch --all\n"), ran(t, plain, "theirs"))
		if s.Manifest != nil || len(s.Regions) > 0 || string(s.Source) != edit("fetch\n", "fetch --all\n") {
			t.Errorf("%s", s.Source)
		}
	})
	t.Run("one edited, the other ran", func(t *testing.T) {
		edited := strings.Replace(base, "Intro.", "Ours.", 1)
		s, _ := merged(t, base, edited, ran(t, plain, "theirs"))
		if want := "load: theirs fetch clean; fit: theirs fit --fast; show: theirs show"; outputs(s) != want {
			t.Errorf("%s", outputs(s))
		}
	})
}
