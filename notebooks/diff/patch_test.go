package diff

import "testing"

func TestPatchPath(t *testing.T) {
	for names, want := range map[string]string{
		"a/x.txt b/x.txt":                   "x.txt",
		"a/a b/c.png b/a b/c.png":           "a b/c.png",
		"a/old.txt b/new.txt":               "new.txt",
		"a/old name.txt b/new.txt":          "new.txt",
		`"a/\303\274.txt" "b/\303\274.txt"`: `\303\274.txt`,
		"":                                  "",
		"what no Git writes":                "what no Git writes",
	} {
		if got := PatchPath(names); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}
