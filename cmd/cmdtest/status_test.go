package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/status"
	"markmill/engine/worktree"
	"markmill/engine/worktree/gittest"
	"markmill/notebooks"
	"markmill/notebooks/region"
	"markmill/render/review"
)

const oneTest = "# A\n\n```bash {#one .test}\ntrue\n```\n"

// TestHostileManifests: a manifest may name anything. What it names starts no program but one on PATH, blocks nothing,
// and never makes an output current.
func TestHostileManifests(t *testing.T) {
	g := gittest.New(t)
	g.Write("a.md", oneTest)
	g.Write("x", "now\n")
	g.Commit("one")
	evil := filepath.Join(g.Dir, "evil")
	ran := filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho >"+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 30) + strings.TrimPrefix(evil, "/")
	now := g.Git("rev-parse", "HEAD:x")
	declared := func(kind, name string) notebooks.Manifest {
		return notebooks.Manifest{Inputs: &notebooks.Inputs{Declared: []notebooks.DeclaredInput{{Kind: kind,
			Name: name}}}}
	}
	for name, m := range map[string]notebooks.Manifest{
		"program above PATH": declared(notebooks.InputProgram, up),
		"a device":           declared(notebooks.InputFile, "/dev/zero"),
		"no kind":            declared("url", "http://127.0.0.1:1/"),
		"no object": {Inputs: &notebooks.Inputs{}, Changes: []notebooks.ManifestChange{{Path: "x", Status: "modified",
			NewBlob: now, NewMode: "100644", OldBlob: "../../etc/passwd", OldMode: "x"}}},
		"an absolute path": {Inputs: &notebooks.Inputs{Except: []string{"/", "../.."},
			Read: []notebooks.Input{{Path: "/x",
				Blob: now}}}, Changes: []notebooks.ManifestChange{{Path: "/x", Status: "deleted"}}},
		"outside": {Inputs: &notebooks.Inputs{Read: []notebooks.Input{{Path: "../../../../etc/passwd",
			Blob: now}}}},
		"ignored, away": {Inputs: &notebooks.Inputs{Read: []notebooks.Input{{Path: "../x", Blob: now, Ignored: true}}}},
		"nothing": {Inputs: &notebooks.Inputs{Read: []notebooks.Input{{Path: "", Blob: now}, {Path: "/", Tree: now},
			{Path: "a.md/", Names: "x"}}}},
	} {
		m.Status, m.SourcePath = "pass", "a.md"
		g.Write("a.out.md", string(region.Splice([]byte(oneTest), nil, m)))
		repo, err := worktree.Open(g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		st, err := status.Of(t.Context(), repo,
			status.Options{Getenv: func(string) (string, bool) { return "/bin", true }})
		if err != nil || len(st.Outputs) != 1 {
			t.Fatalf("%s: %+v, %v", name, st, err)
		}
		if _, err := branchreview.Review(t.Context(), repo, "HEAD", branchreview.Options{Current: true}); err != nil {
			t.Errorf("%s: review: %v", name, err)
		}
		if o := st.Outputs[0]; st.Current || o.State != review.Unknown && o.State != review.Outdated {
			t.Errorf("%s: %s: %s", name, o.State, o.Why)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program ran that a manifest names")
	}
}

// TestPathsForReaders: a path that a shell would take for an option or that is not UTF-8 is spelled so that it is not.
func TestPathsForReaders(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	g := gittest.New(t)
	g.Write("-a.md", oneTest)
	if err := os.WriteFile(filepath.Join(g.Dir, "\xff.md"), []byte(oneTest), 0o644); err != nil {
		t.Skip("the file system takes no such name:", err)
	}
	g.Commit("one")
	repo, err := worktree.Open(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	st, err := status.Of(t.Context(), repo, status.Options{})
	if err != nil || len(st.Outputs) != 2 {
		t.Fatalf("%+v, %v", st, err)
	}
	st = st.ForJSON()
	if got := strings.Join(st.Outputs[0].Fix, " "); got != "markmill run ./-a.md ./-a.out.md" {
		t.Error(got)
	}
	if got := st.Outputs[1].Source; got != `\xff.md` {
		t.Errorf("%q", got)
	}
}
