package kernel

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func notANumber() float64 { return math.NaN() }

// tool runs GlueMain or ScrapMain with an environment of its own.
type tool struct{ scraps, dir string }

func newTool(t *testing.T) tool {
	dir := t.TempDir()
	return tool{filepath.Join(dir, "scraps.jsonl"), filepath.Join(dir, "step")}
}

func (o tool) getenv(name string) string {
	return map[string]string{"MARKMILL_SCRAPS": o.scraps, "MARKMILL_STEP_DIR": o.dir}[name]
}

func (o tool) glue(stdin string, args ...string) (code int, stderr string) {
	var out, err bytes.Buffer
	code = GlueMain(args, strings.NewReader(stdin), &out, &err, o.getenv)
	return code, err.String()
}

func (o tool) scrap(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = ScrapMain(args, nil, &out, &err, o.getenv)
	return code, out.String(), err.String()
}

func TestGlueAndScrap(t *testing.T) {
	o := newTool(t)
	file := filepath.Join(t.TempDir(), "a b.png")
	if err := os.WriteFile(file, []byte("png"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"n", "007"}, "007"},
		{"", []string{"n", "1.10"}, "1.10"},
		{"", []string{"n", ""}, ""},
		{"", []string{"n", "-1"}, "-1"},
		{"two\nlines\n", []string{"n", "-"}, "two\nlines"},
		{"piped\n\n", []string{"n"}, "piped\n"},
		{"", []string{"--", "-n", "x"}, "x"},
		{"", []string{"--json", "n", `{"b": [1, 12345678901234567890], "a": "é"}`},
			`{"b":[1,12345678901234567890],"a":"é"}`},
		{"a,b\n1,\"x,y\"\n", []string{"--table", "n", "-"}, `{"columns":["a","b"],"data":[["1","x,y"]]}`},
		{"", []string{"--image", "n", file}, filepath.Join(o.dir, "scrap-n.png")},
		{"", []string{"--file", "a/../b", file}, filepath.Join(o.dir, "scrap-a____b.png")},
	} {
		if code, stderr := o.glue(c.stdin, c.args...); code != 0 {
			t.Errorf("glue %q: %d %s", c.args, code, stderr)
			continue
		}
		name := "n"
		if c.args[0] == "--" || c.args[0] == "--file" {
			name = c.args[1]
		}
		if code, got, stderr := o.scrap(name); code != 0 || got != c.want+"\n" {
			t.Errorf("glue %q: scrap %d %q %s, want %q", c.args, code, got, stderr, c.want)
		}
	}
	if _, got, _ := o.scrap("--json", "-n"); got != "\"x\"\n" {
		t.Errorf("%q", got)
	}
	if raw, err := os.ReadFile(filepath.Join(o.dir, "scrap-n.png")); err != nil || string(raw) != "png" {
		t.Errorf("%q %v", raw, err)
	}
}

func TestGlueRefuses(t *testing.T) {
	o := newTool(t)
	for _, args := range [][]string{{}, {"--nonsense", "n", "v"}, {""}, {"n", "v", "more"}} {
		if code, stderr := o.glue("", args...); code != 2 || stderr == "" {
			t.Errorf("glue %q: %d %s", args, code, stderr)
		}
	}
	for _, args := range [][]string{{"--json", "n", "{"}, {"--json", "n", "NaN"}, {"n", "\xff"}, {"--table", "n", ""},
		{"--file", "n", "/no/such/file"}} {
		if code, stderr := o.glue("", args...); code != 1 || !strings.HasPrefix(stderr, "glue: n: ") {
			t.Errorf("glue %q: %d %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(o.scraps); err == nil {
		t.Error("a refused scrap was written")
	}
	if code, _, stderr := o.scrap("x"); code != 1 || !strings.Contains(stderr, "none yet") {
		t.Errorf("%d %s", code, stderr)
	}
	o.glue("", "b", "1")
	o.glue("", "a", "1")
	if code, _, stderr := o.scrap("x"); code != 1 || !strings.Contains(stderr, "known: a, b") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, stderr := (tool{}).glue("", "n", "v"); code != 1 || !strings.Contains(stderr, "MARKMILL_SCRAPS") {
		t.Errorf("%d %s", code, stderr)
	}
}

// A line that another process is still writing is not read.
func TestScrapPassesOverATornLine(t *testing.T) {
	o := newTool(t)
	if err := os.WriteFile(o.scraps, []byte(`{"name":"a","type":"text","value":"x"}`+"\n"+`{"name":"a","ty`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if code, got, stderr := o.scrap("a"); code != 0 || got != "x\n" {
		t.Errorf("%d %q %s", code, got, stderr)
	}
}

func TestLanguages(t *testing.T) {
	for word, want := range map[string]string{"bash": "bash", "shell": "bash", "sh": "sh", "zsh": "zsh",
		"python": "python", "python3": "python", "py": "python", "node": "node", "js": "node", "javascript": "node"} {
		got, ok := ForLanguage(word)
		if _, in := Lookup(got); !ok || got != want || !in {
			t.Errorf("%s: %q %v", word, got, ok)
		}
	}
	for _, word := range []string{"", "console", "text", "Python ", "c"} {
		if got, ok := ForLanguage(word); ok {
			t.Errorf("%s runs as %s", word, got)
		}
	}
}
