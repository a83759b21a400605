package review

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// tested is the output notebook of a source whose only step is a test, with what its run read and changed.
func tested(source string, in notebooks.Inputs, changes ...notebooks.ManifestChange) string {
	nb, err := markdown.Parse("x.md", []byte(source))
	if err != nil {
		panic(err)
	}
	return string(region.Splice(nb.Source, nil, notebooks.Manifest{Status: "pass", Inputs: &in, Changes: changes,
		Steps: []notebooks.ManifestStep{{ID: "one", Status: "pass", Tags: []string{notebooks.TagTest}}}}))
}

// blob is the input of a file with a text.
func blob(name, text string) notebooks.Input {
	return notebooks.Input{Path: name, Blob: region.DigestOf([]byte(text)), Step: "one"}
}

func read(list ...notebooks.Input) notebooks.Inputs { return notebooks.Inputs{Read: list} }

func findings(r *Review) string {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, f.Sign()+" "+string(f.Condition)+" "+f.Path+": "+f.Words)
	}
	return strings.Join(lines, "\n")
}

// TestAffected: an output whose run read what the branch changed is outdated, though no notebook changed.
func TestAffected(t *testing.T) {
	src := sourceText("A", "make")
	base := files{"n/a.md": src, "runs/a.md": tested(src, read(blob("lib/x.py", "1"))), "lib/x.py": "1",
		"lib/y.py": "1"}
	with := func(name, text string) files {
		head := files{}
		for p, t := range base {
			head[p] = t
		}
		head[name] = text
		return head
	}
	const notCovered = "! untested lib/y.py: changed, and no notebook covers it"
	for name, c := range map[string]struct {
		head       files
		change     func(*Input)
		want, list string
	}{
		"read": {with("lib/x.py", "2"), nil, "✗ outdated runs/a.md: outdated: lib/x.py changed (read by step one)",
			"n/a.md: untouched · output outdated"},
		"not read": {with("lib/y.py", "2"), nil, notCovered, ""},
		"not read, and current is required": {with("lib/y.py", "2"), func(in *Input) { in.Current = true },
			notCovered, ""},
		"not known": {with("runs/a.md", tested(src, notebooks.Inputs{Unknown: "noatime"})), nil, "",
			"runs/a.md: edited · output unknown"},
		"not known, and current is required": {with("runs/a.md", tested(src, notebooks.Inputs{Unknown: "noatime"})),
			func(in *Input) { in.Current, in.FailOn = true, RequireCurrent },
			"✗ unknown runs/a.md: unknown: noatime", "runs/a.md: edited · output unknown"},
	} {
		r := reviewed(t, base, c.head, c.change)
		if got := findings(r); got != c.want {
			t.Errorf("%s: findings:\n%s\nwant:\n%s", name, got, c.want)
		}
		if got := summaries(r); got != c.list {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.list)
		}
		if fails := r.Verdict == "fail"; fails != strings.HasPrefix(c.want, "✗") {
			t.Errorf("%s: the verdict is %s", name, r.Verdict)
		}
	}
	r := reviewed(t, base, with("lib/x.py", "2"), nil)
	if got := r.VerdictWords(); !strings.HasPrefix(got, "1 objection · ") {
		t.Error(got)
	}
}

// TestElsewhere: what a run began with, and neither the base nor the branch has, is told (cheat C3).
func TestElsewhere(t *testing.T) {
	src := sourceText("A", "make")
	base := files{"a.md": src, "test.py": "strict", "x.py": "bug"}
	fix := notebooks.ManifestChange{Path: "x.py", Status: "modified", OldBlob: "bug", OldMode: "100644",
		NewBlob: region.DigestOf([]byte("fix")), NewMode: "100644"}
	began := func(text string) notebooks.ManifestChange {
		c := fix
		c.OldBlob = region.DigestOf([]byte(text))
		return c
	}
	for name, c := range map[string]struct{ out, want string }{
		"honest": {tested(src, read(blob("test.py", "strict")), began("bug")), ""},
		"rigged tests": {tested(src, read(blob("test.py", "rigged")), began("bug")),
			"✗ differs a.out.md: its run began with files that neither side has: test.py\n" +
				"✗ outdated a.out.md: outdated: test.py changed (read by step one)"},
		"another start": {tested(src, read(blob("test.py", "strict")), began("no bug")),
			"✗ differs a.out.md: its run began with files that neither side has: x.py"},
	} {
		head := files{"a.md": src, "test.py": "strict", "x.py": "fix", "a.out.md": c.out}
		if got := findings(reviewed(t, base, head, nil)); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

// TestProgramInside: an interpreter that lies in the repository, or that was replaced, is told (cheat C4).
func TestProgramInside(t *testing.T) {
	src := sourceText("A", "make")
	in := read()
	in.Programs = []notebooks.Program{{Kernel: "bash", Name: "bash", Digest: "sha256:1"},
		{Kernel: "other", Name: "bash", Digest: "sha256:3"}, {Kernel: "python", Name: "python3", Inside: true},
		{Kernel: "bash", Name: "bash", Digest: "sha256:2"}}
	head := files{"a.md": src, "a.out.md": tested(src, in)}
	want := "✗ policy a.out.md: a program of the repository itself ran its steps: python3\n" +
		"✗ policy a.out.md: a program was another file for a later step: bash"
	if got := findings(reviewed(t, files{"a.md": src}, head, nil)); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}

// TestChangedJudges: scripts that a test reads and the branch changed are named with the output (cheat C9).
func TestChangedJudges(t *testing.T) {
	src := sourceText("A", "make")
	base := files{"a.md": src, "lib.py": "1", "scripts/verify.sh": "real", "other": "1"}
	head := files{"a.md": src, "lib.py": "2", "scripts/verify.sh": "echo 531 passed", "other": "2",
		"a.out.md": tested(src, read(blob("lib.py", "2"), blob("scripts/verify.sh", "echo 531 passed")))}
	r := reviewed(t, base, head, nil)
	notes := ""
	for _, n := range r.Notebooks {
		for _, note := range n.Notes() {
			notes += note.Words + "\n"
		}
	}
	if !strings.Contains(notes, "the branch changed what its tests read: scripts/verify.sh, lib.py\n") {
		t.Error(notes)
	}
}

// TestSurvey lists every notebook of a tree, and why what is not current is not.
func TestSurvey(t *testing.T) {
	src := sourceText("A", "echo 1")
	two := "# B\n\n```yaml {#params .parameters}\nn: 1\n```\n\n```bash {#one}\necho 1\n```\n\n```bash {#two}\n" +
		"echo 2\n```\n"
	const jupyter = `{"cells": [{"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "1", "outputs": [%s]}],
"metadata": {}, "nbformat": 4, "nbformat_minor": 4}`
	edited := strings.Replace(strings.Replace(two, "echo 2", "echo 3", 1), "n: 1", "n: 2", 1)
	head := files{
		"a.md": src, "a.out.md": ran(src, "pass", "1"),
		"b.md": edited, "b.out.md": tested(two, read()),
		"c.md": src + "c", "c.out.md": tested(src+"c", read(blob("lib", "1"))), "lib": "2",
		"d.md": src + "d", "d.out.md": tested(src+"d", notebooks.Inputs{Unknown: "noatime"}),
		"e.md": src + "e", "e.out.md": ran(src+"e", "blocked", "1"),
		"f.md": src + "f", "f.out.md": strings.Replace(ran(src+"f", "pass", "1"), "\n1\n", "\n2\n", 1),
		"g.md": src + "g", "h.md": src + "h",
		"i.md": ran(src+"i", "pass", "1"), "j.md": src + "\nmore prose\n", "j.out.md": ran(src, "pass", "1"),
		"README.md": "# No notebook\n", "k.ipynb": fmt.Sprintf(jupyter,
			`{"output_type": "stream", "name": "stdout", "text": "1"}`),
		"l.ipynb": fmt.Sprintf(jupyter, ""),
	}
	base := files{"h.md": src + "h", "h.out.md": ran(src+"h", "pass", "1")}
	list, err := Survey(Input{Base: base, BaseName: Revision{Name: "HEAD"}, Head: head})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range list {
		o := &list[i]
		lines = append(lines, strings.TrimSpace(o.Source+" "+o.Path+" "+string(o.States[0])+" "+o.Why()))
	}
	want := `a.md a.out.md current
b.md b.out.md outdated b.md changed: step two, parameter n
c.md c.out.md outdated lib changed (read by step one)
d.md d.out.md unknown noatime
e.md e.out.md blocked its run is blocked
f.md f.out.md edited line 7: step "one": the region of this step was edited: its digest is another
g.md  missing no output here
h.md h.out.md missing it is in HEAD, and not here
i.md current
j.md j.out.md outdated j.md changed: the text between the steps
k.ipynb  unknown its outputs are not of a run of Markmill: what they were made from was not recorded`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
