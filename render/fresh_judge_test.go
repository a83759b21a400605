package render_test

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/render/fresh"
)

// tree is a tree of three maps; what it is without is told by without.
type tree struct {
	blobs   map[string]string
	folders map[string][2]string
	ignored map[string]string
	attrs   map[string]string
	kernels map[string]string
	counted map[string]string // digests by the rules 1, of a folder and the patterns of what counts
	looked  []string
	without func(except []string, changes []notebooks.ManifestChange) fresh.Tree
}

func (t tree) Entry(path string) (string, string, error) {
	if t.blobs[path] == "" {
		return "", "", nil
	}
	return t.blobs[path], "100644", nil
}

func (t tree) Names(path string, of []string) (string, error) {
	return t.counted[path+strings.Join(of, "")], nil
}

func (t tree) Below(path string, of []string) (string, error) {
	return t.counted[path+strings.Join(of, "")+"/"], nil
}

func (t tree) Looked([]notebooks.Input) ([]string, error) { return t.looked, nil }

func (t tree) Folder(path string) (string, string, error) {
	return t.folders[path][0], t.folders[path][1], nil
}

func (t tree) Attributes(path string) (string, error) { return t.attrs[path], nil }

func (t tree) KernelSettings(kernel string) (string, error) { return t.kernels[kernel], nil }

func (t tree) Without(except []string, changes []notebooks.ManifestChange) (fresh.Tree, error) {
	return t.without(except, changes), nil
}

func (t tree) Ignored(path, _ string) (string, bool, error) {
	return t.ignored[path], t.ignored != nil, nil
}

func (t tree) Declared(in notebooks.DeclaredInput) (notebooks.DeclaredInput, bool, error) {
	in.Version = "3.13"
	return in, true, nil
}

func (t tree) Dependency(path string) (string, bool) {
	return t.ignored[path], t.ignored[path] != ""
}

func TestJudge(t *testing.T) {
	now := tree{blobs: map[string]string{"a": "1", "b": "2"},
		folders: map[string][2]string{"lib": {"t1", "n1"}, ".": {"t", "n"}},
		counted: map[string]string{"lib": "c1", "lib*.py": "c2", "lib/": "c3"}, looked: []string{"tox.ini"},
		attrs: map[string]string{"b": "eol=crlf"}, kernels: map[string]string{"bash": "k1", "sh": "k2"}}
	for name, c := range map[string]struct {
		in   notebooks.Inputs
		want string
	}{
		"current": {notebooks.Inputs{Read: []notebooks.Input{{Path: "a", Blob: "1"}, {Path: "lib", Tree: "t1"}}}, ""},
		"changed": {notebooks.Inputs{Read: []notebooks.Input{{Path: "a", Blob: "9", Step: "test"}}},
			"a changed (read by step test)"},
		"removed": {notebooks.Inputs{Read: []notebooks.Input{{Path: "c", Blob: "9"}}}, "c was removed"},
		"mode": {notebooks.Inputs{Read: []notebooks.Input{{Path: "a", Blob: "1", Mode: "100755"}}},
			"a has mode 100644, and had 100755"},
		"names": {notebooks.Inputs{Read: []notebooks.Input{{Path: "lib", Names: "n2"}}},
			"lib has other files or folders"},
		"names above": {notebooks.Inputs{Read: []notebooks.Input{{Path: ".", Names: "n2"}}},
			"the top folder has other files or folders"},
		"tree": {notebooks.Inputs{Read: []notebooks.Input{{Path: "lib", Tree: "t2"}}}, "lib changed, or " +
			"something in it"},
		"counted names": {notebooks.Inputs{Rules: 1, Looked: []string{"tox.ini"}, Read: []notebooks.Input{
			{Path: "lib", Names: "c2", Of: []string{"*.py"}}, {Path: "lib", Tree: "c3"}}}, ""},
		"other counted names": {notebooks.Inputs{Rules: 1, Looked: []string{"tox.ini"}, Read: []notebooks.Input{
			{Path: "lib", Names: "c2"}, {Path: "lib", Tree: "c1", Of: []string{"*.py"}}}},
			"lib has other files or folders, lib was removed"},
		"looked for": {notebooks.Inputs{Rules: 1},
			"tox.ini came, and tools that read the files beside it look for it"},
		"newer rules": {notebooks.Inputs{Rules: 2}, "a newer version of Markmill recorded what its run read"},
		"no names":    {notebooks.Inputs{Read: []notebooks.Input{{Path: "src", Names: "n2"}}}, "src was removed"},
		"attributes": {notebooks.Inputs{Read: []notebooks.Input{{Path: "b", Blob: "2", Attributes: "eol=crlf"}}},
			""},
		"other attributes": {notebooks.Inputs{Read: []notebooks.Input{{Path: "b", Blob: "2"}}},
			"b has other attributes in .gitattributes, so other bytes when it is checked out"},
		"kernel": {notebooks.Inputs{Programs: []notebooks.Program{{Kernel: "bash", Settings: "k1"},
			{Kernel: "python"}}}, ""},
		"other kernel": {notebooks.Inputs{Programs: []notebooks.Program{{Kernel: "bash", Settings: "k0"},
			{Kernel: "sh"}}}, "markmill.yaml changed the kernel bash, markmill.yaml changed the kernel sh"},
		"unknown": {notebooks.Inputs{Unknown: "the mount is noatime"}, "the mount is noatime"},
		"ignored": {notebooks.Inputs{Read: []notebooks.Input{{Path: "secret.cfg", Blob: "1", Ignored: true}}},
			"secret.cfg was read, and Git ignores it: it cannot be compared here"},
		"declared": {notebooks.Inputs{Declared: []notebooks.DeclaredInput{{Kind: notebooks.InputProgram,
			Name:    "python3",
			Version: "3.9"}}}, "python3 is 3.13, and was 3.9"},
	} {
		r, err := fresh.Judge(&notebooks.Manifest{Inputs: &c.in}, now)
		if err != nil || r.Words(5) != c.want || r.Current() != (c.want == "") {
			t.Errorf("%s: %q, current %t, %v; want %q", name, r.Words(5), r.Current(), err, c.want)
		}
	}
	if r, _ := fresh.Judge(&notebooks.Manifest{}, now); r.Current() {
		t.Error("a result without inputs is current")
	}
}

// TestJudgeApplied: a tree that has the whole change of the run is compared as it was before. One that has a part of
// it is compared as it is.
func TestJudgeApplied(t *testing.T) {
	before := tree{blobs: map[string]string{"a": "old"}}
	asked := 0
	after := tree{blobs: map[string]string{"a": "new", "b": "made"},
		without: func(except []string, changes []notebooks.ManifestChange) fresh.Tree {
			if asked++; len(changes) != 2 {
				t.Errorf("%d changes are taken back, want 2", len(changes))
			}
			return before
		}}
	m := notebooks.Manifest{Inputs: &notebooks.Inputs{Read: []notebooks.Input{{Path: "a", Blob: "old", Step: "fix"}}},
		Changes: []notebooks.ManifestChange{
			{Path: "a", Status: "modified", OldBlob: "old", NewBlob: "new", OldMode: "100644", NewMode: "100644"},
			{Path: "b", Status: "added", NewBlob: "made", NewMode: "100644"},
		}}
	if r, err := fresh.Judge(&m, after); err != nil || !r.Current() || !r.Applied || asked != 1 {
		t.Error(r, err, asked)
	}
	after.blobs["b"] = "another"
	if r, err := fresh.Judge(&m, after); err != nil || r.Applied ||
		r.Words(3) != "a changed (read by step fix), b is there, and the run began without it" {
		t.Error(r, err)
	}
	if r, err := fresh.Judge(&m, before); err != nil || !r.Current() || r.Applied {
		t.Error(r, err)
	}
}

func (t tree) Data(in notebooks.DataInput, wrote map[string]bool) (notebooks.DataInput, bool, error) {
	if wrote["own"] {
		in.Names = "without own"
	}
	in.Digest, in.Maker = t.ignored[in.Path], "01.md"
	return in, t.ignored != nil, nil
}
