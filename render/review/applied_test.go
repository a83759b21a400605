package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// blobs maps the paths of a tree to their blobs, followed by a space and the mode unless it is that of a plain file.
type blobs map[string]string

// withBlobs is a tree whose files, except notebooks, are known only by their blobs.
type withBlobs struct {
	files
	blobs
}

func (t withBlobs) Entry(name string) (blob, mode string, ok bool, err error) {
	if text, ok := t.blobs[name]; ok {
		blob, mode, _ = strings.Cut(text, " ")
		if mode == "" {
			mode = "100644"
		}
		return blob, mode, true, nil
	}
	return t.files.Entry(name)
}

// changed returns the output of a run that changed files.
func changed(title string, changes ...notebooks.ManifestChange) string {
	nb, err := markdown.Parse("x.md", []byte(sourceText(title, "echo 1")))
	if err != nil {
		panic(err)
	}
	return string(region.Splice(nb.Source, []region.Region{{ID: "one", At: nb.Steps[0].Fence.End,
		Body: []byte("ran\n")}},
		notebooks.Manifest{Format: 2, Status: "pass", Changes: changes}))
}

func TestBranchIsComparedWithRun(t *testing.T) {
	sha256 := strings.Repeat("ab", 32)
	edit := notebooks.ManifestChange{Path: "x.py", Status: "modified", OldBlob: "a1", NewBlob: "a2", OldMode: "100644",
		NewMode: "100644"}
	for _, c := range []struct {
		name    string
		changes []notebooks.ManifestChange
		head    blobs
		others  []string
		want    string
	}{
		{"nothing changed", nil, blobs{}, nil, ""},
		{"applied", []notebooks.ManifestChange{edit}, blobs{"x.py": "a2"}, []string{"x.py"},
			"its change is applied exactly"},
		{"not applied", []notebooks.ManifestChange{edit}, blobs{"x.py": "a1"}, nil, "its change is not applied"},
		{"other code instead", []notebooks.ManifestChange{edit}, blobs{"x.py": "a1", "y.py": "b1"}, []string{"y.py"},
			"its change is not applied, and the branch changes y.py instead"},
		{"a link of the run, which is no code", []notebooks.ManifestChange{{Path: "node_modules", Status: "added",
			NewBlob: "c1",
			NewMode: "120000"}}, blobs{"y.py": "b1"}, []string{"y.py"}, "its change is not applied"},
		{"another content", []notebooks.ManifestChange{edit}, blobs{"x.py": "a3"}, nil,
			"the branch differs from what the run left: x.py"},
		{"another mode", []notebooks.ManifestChange{edit}, blobs{"x.py": "a2 100755"}, nil,
			"the branch differs from what the run left: x.py"},
		{"a link", []notebooks.ManifestChange{edit}, blobs{"x.py": "a2 120000"}, nil,
			"the branch differs from what the run left: x.py"},
		{"gone", []notebooks.ManifestChange{edit}, blobs{}, nil, "the branch differs from what the run left: x.py"},
		{"in part", []notebooks.ManifestChange{edit, {Path: "z.py", Status: "added", NewBlob: "c1"}},
			blobs{"x.py": "a2"},
			nil, "the branch differs from what the run left: z.py"},
		{"added", []notebooks.ManifestChange{{Path: "z.py", Status: "added", NewBlob: sha256}},
			blobs{"z.py": sha256}, nil,
			"its change is applied exactly"},
		{"deleted", []notebooks.ManifestChange{{Path: "z.py", Status: "deleted", OldBlob: "c1"}}, blobs{}, nil,
			"its change is applied exactly"},
		{"deleted, and there", []notebooks.ManifestChange{{Path: "z.py", Status: "deleted", OldBlob: "c1"}},
			blobs{"z.py": "c1"}, nil, "its change is not applied"},
		{"deleted, and another", []notebooks.ManifestChange{{Path: "z.py", Status: "deleted", OldBlob: "c1"}},
			blobs{"z.py": "c2"}, nil, "the branch differs from what the run left: z.py"},
		{"renamed", []notebooks.ManifestChange{{Path: "n.py", OldPath: "o.py", Status: "renamed", OldBlob: "c1",
			NewBlob: "c1"}}, blobs{"n.py": "c1"}, nil, "its change is applied exactly"},
		{"renamed, and both there", []notebooks.ManifestChange{{Path: "n.py", OldPath: "o.py", Status: "renamed",
			OldBlob: "c1", NewBlob: "c1"}}, blobs{"n.py": "c1", "o.py": "c1"}, nil,
			"the branch differs from what the run left: n.py"},
		{"renamed, and not applied", []notebooks.ManifestChange{{Path: "n.py", OldPath: "o.py", Status: "renamed",
			OldBlob: "c1", NewBlob: "c1"}}, blobs{"o.py": "c1"}, nil, "its change is not applied"},
	} {
		head := withBlobs{files{"a.md": changed("A", c.changes...)}, c.head}
		r := reviewed(t, files{}, head.files, func(in *Input) {
			in.Head = head
			for _, p := range c.others {
				in.Files = append(in.Files, File{Path: p, New: true})
			}
		})
		got := ""
		if a := r.Notebooks[0].Outputs[0].Applied; a != nil {
			got = a.words()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if differs := strings.Contains(c.want, "differs") ||
			strings.Contains(c.want, "instead"); differs != (r.Verdict == "fail") {
			t.Errorf("%s: %s", c.name, r.Verdict)
		}
	}
}

// Several runs on a branch change one file in sequence: only what the last one left counts, whatever the notebooks'
// names.
func TestConsecutiveRuns(t *testing.T) {
	step := func(old, now string) notebooks.ManifestChange {
		return notebooks.ManifestChange{Path: "x.py", OldBlob: old, NewBlob: now}
	}
	for blob, want := range map[string]string{"a4": "pass", "a2": "fail", "a9": "fail"} {
		head := withBlobs{files{"b.md": changed("First", step("a1", "a2")), "a.md": changed("Second", step("a2", "a3")),
			"c.md": changed("Third", step("a3", "a4"))}, blobs{"x.py": blob}}
		r := reviewed(t, files{}, head.files, func(in *Input) { in.Head = head })
		if r.Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", blob, r.Verdict, want, r.Findings)
		}
	}
}

// TestOlderOutputsAreNotCompared: an output that the branch does not add says nothing about its code.
func TestOlderOutputsAreNotCompared(t *testing.T) {
	old := changed("A", notebooks.ManifestChange{Path: "x.py", OldBlob: "a1", NewBlob: "a2"})
	base := files{"a.md": old, "b.md": sourceText("B", "echo")}
	head := withBlobs{files{"a.md": old, "b.md": sourceText("B", "echo 2")}, blobs{"x.py": "a7"}}
	if r := reviewed(t, base, head.files, func(in *Input) { in.Head = head }); r.Verdict != "pass" ||
		len(r.Findings) > 0 {
		t.Errorf("%s %+v", r.Verdict, r.Findings)
	}
}

func TestFindingsAreNeverCut(t *testing.T) {
	base, head := files{}, files{}
	for i := range 600 {
		name := strings.Repeat("long/", 20) + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ".md"
		base[name], head[name] = sourceText("A", "echo"), ran(sourceText("A", "echo"), "fail", "1")
	}
	r := reviewed(t, base, head, nil)
	if r.Objections() != 600 {
		t.Fatal(r.Objections())
	}
	for i := range r.Findings {
		r.Findings[i].Words += fmt.Sprint(" for reason ", i)
	}
	for _, limit := range []int{2000, 20000, 65536} {
		text := string(r.View().Markdown(limit))
		lines := strings.Count(text, ". ✗ ")
		if len(text) > limit || lines < 3 || limit > 2000 && lines < 6 {
			t.Errorf("%d: %d bytes, %d lines", limit, len(text), lines)
		}
		if !strings.Contains(text, " more: ") || limit > 2000 && !strings.Contains(text, "\n- ✗ ") {
			t.Errorf("%d: the other findings are not counted, or not listed", limit)
		}
		if at := strings.Index(text, "\n1. ✗ "); at < 0 || at > 400 {
			t.Errorf("%d: the findings stand at %d", limit, at)
		}
		if before, _, _ := strings.Cut(text, "<details"); strings.Count(before, "\n") > 26 {
			t.Errorf("%d: the first screen has more than 25 lines:\n%s", limit, before)
		}
	}
}

func TestRulesAreKnown(t *testing.T) {
	base, head := files{"a.md": sourceText("A", "echo"), "t/test_x.py": "1"},
		files{"a.md": sourceText("A", "echo 2"), "t/test_x.py": "2"}
	r := reviewed(t, base, head, func(in *Input) {
		in.Protect, in.Matches = []string{"t/**"}, func(patterns []string, p string) bool {
			return slices.Contains(patterns, "t/**") && strings.HasPrefix(p, "t/")
		}
	})
	if len(r.Findings) != 1 || r.Findings[0].Condition != OnRules || r.Findings[0].Words != "protected file edited" ||
		r.Verdict != "pass" {
		t.Errorf("%+v", r.Findings)
	}
}
