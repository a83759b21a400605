package notebooks_test

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/contract"
	"markmill/notebooks/markdown"
)

// front returns the front matter of a notebook.
func front(t *testing.T, yaml string) notebooks.Front {
	t.Helper()
	nb, err := markdown.Parse("x.md", []byte("---\n"+yaml+"\n---\n\n```bash {#a}\ntrue\n```\n"))
	if err != nil {
		t.Fatal(err)
	}
	return nb.Front
}

func TestWider(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"title: x", "title: y", ""},
		{"allow: [src/**]", "allow: [src/**]", ""},
		{"allow: [src/**]", "allow: [src/a/**, src/b.go]", ""},
		{"title: x", "allow: [src/**]", ""},
		{"allow: [src/**]", `allow: ["**"]`, "allow has ** now"},
		{"allow: [src/**]", "allow: [src/**, docs/**]", "allow has docs/** now"},
		{"allow: [src/**]", "allow: [src2/**]", "allow has src2/** now"},
		{"allow: [src/**]", "title: x", "allow was removed (it was src/**)"},
		{"forbid: [a.csv, b/**]", "forbid: [b/**]", "forbid lost a.csv"},
		{"forbid: [b/x]", "forbid: [b/**]", ""},
		{"require: [diff, tests]", "require: [diff]", "require lost tests"},
		{"limits: {files: 3}", "limits: {files: 300}", "the limit of files was raised from 3 to 300"},
		{"limits: {files: 3}", "limits: {lines: 5}", "the limit of 3 files was removed"},
		{"limits: {files: 3}", "limits: {files: 2}", ""},
		{"sandbox: strict", "sandbox: off", "sandbox went from strict to off"},
		{"title: x", "sandbox: off", "sandbox went from the default to off"},
		{"sandbox: off", "sandbox: strict", ""},
		{"network: off", "title: x", "network went from off to the default"},
		{"mode: none", "mode: in-place", "mode went from none to in-place"},
		{"approval: required", "title: x", "no approval is asked for any more"},
	} {
		got := strings.Join(contract.Wider(contract.Of(front(t, c.old)), contract.Of(front(t, c.now))), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s -> %s: %q, want %q", c.old, c.now, got, c.want)
		}
	}
}

func TestWiderOfManifests(t *testing.T) {
	old := &notebooks.ManifestContract{Allow: []string{"a/**"}, Protect: []string{"t/**"},
		Limits:   "files 10, lines 200",
		Approval: "bob"}
	got := strings.Join(contract.Wider(contract.OfManifest(old),
		contract.OfManifest(&notebooks.ManifestContract{Allow: []string{"a/**"}, Limits: "files 10, lines 900"})), "; ")
	if want := "protect lost t/**; the limit of lines was raised from 200 to 900; no approval is " +
		"asked for any more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
