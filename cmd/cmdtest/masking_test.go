package cmdtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/render/plain"
)

const tornSecret = "s3cr-et/47"

// tornStream draws a stream with terminal effects around and inside a secret, and with parts of it out of order.
func tornStream() *rapid.Generator[string] {
	effect := rapid.SampledFrom([]string{"\r", "\b", "\b\b\b", "\x1b[1;31m", "\x1b[m", "\x1b[K", "\x1b[1K", "\x1b[2K",
		"\x1b[3G", "\x1b[2D", "\x1b[4C", "\x1b[J",
		"\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b(B", "\x1b", "\n", "\r\n", " ", "x", "é"})
	piece := rapid.Custom(func(t *rapid.T) string {
		from := rapid.IntRange(0, len(tornSecret)).Draw(t, "from")
		return tornSecret[from:rapid.IntRange(from, len(tornSecret)).Draw(t, "to")]
	})
	inside := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for _, c := range tornSecret {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				b.WriteString(rapid.SampledFrom([]string{"\x1b[01;31m", "\x1b[K", "\x1b]0;t\x07", "\x1b(B"}).Draw(t,
					"ignored"))
			case 1:
				b.WriteString(string(c) + "\b")
			}
			b.WriteRune(c)
		}
		return b.String()
	})
	swapped := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(1, len(tornSecret)-1).Draw(t, "cut")
		return fmt.Sprintf("\r\x1b[%dC%s\r%s", n, tornSecret[n:], tornSecret[:n])
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(effect, piece, inside, swapped, rapid.Just(tornSecret)), 1, 10),
		func(parts []string) string { return strings.Join(parts, "") })
}

var pageTag = regexp.MustCompile(`<[^>]*>`)

// showsTorn says whether a reader of a text sees the secret: in the bytes, on a terminal, on a page, in the texts of
// its JSON.
func showsTorn(text string) bool {
	shown := func(text string) bool {
		for line := range strings.Lines(text) {
			if strings.Contains(plain.Resolve([]byte(strings.TrimSuffix(line, "\n"))), tornSecret) {
				return true
			}
		}
		return strings.Contains(text, tornSecret)
	}
	if shown(text) || shown(html.UnescapeString(pageTag.ReplaceAllString(text, ""))) {
		return true
	}
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case string:
			return shown(v)
		case []any:
			joined := ""
			for _, item := range v {
				s, _ := item.(string)
				if joined += s; walk(item) {
					return true
				}
			}
			return shown(joined) // the lines of a text in nbformat
		case map[string]any:
			for name, item := range v {
				if shown(name) || walk(item) {
					return true
				}
			}
		}
		return false
	}
	for doc := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if doc.Decode(&v) != nil {
			return false
		}
		if walk(v) {
			return true
		}
	}
}

// TestNoSinkShowsATornSecret runs notebooks that print, raise and glue a secret cut by terminal effects. No sink shows
// it: not the terminal, a file of the record, an output notebook of either form, a page, a comparison, JSON, nor the
// events; and the record holds. -rapid.checks=N sets how many streams are tried; without it there are two, and eight
// with MARKMILL_ALL set, for each is some twenty processes.
func TestNoSinkShowsATornSecret(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"git", "bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	checks := flag.Lookup("rapid.checks")
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f == checks })
	if !given {
		was := checks.Value.String()
		few := "2"
		if everything() {
			few = "8"
		}
		if err := checks.Value.Set(few); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Value.Set(was) }()
	}
	const book = "---\nsecrets: [TORN]\nsandbox: off\n---\n\n```bash {#shell .allow-failure}\nfor p in parts/*; do " +
		"cat $p; sleep 0.001; done\necho\n" + // what the next step prints is no part of this one's stream
		"cat parts/* >&2\nglue text \"$(cat parts/*)\"\nfalse\n```\n\n```python {#py .raises-exception}\nimport " +
		"glob, sys\n" +
		"text = ''.join(open(p, newline='').read() for p in sorted(glob.glob('parts/*')))\n" +
		"for c in text: sys.stdout.write(c); sys.stdout.flush()\nraise ValueError(text)\n```\n"
	program := builtProgram(t)
	rapid.Check(t, func(rt *rapid.T) {
		stream := tornStream().Draw(rt, "stream")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		repo := filepath.Join(dir, "repo")
		write := func(name, text string) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(repo, name)), 0o755); err != nil {
				rt.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		write("book.md", book)
		for i, rest := 0, stream; rest != ""; i++ {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "cut")
			write(fmt.Sprintf("parts/%03d", i), rest[:n])
			rest = rest[n:]
		}
		do := func(program string, args ...string) string {
			c := exec.Command(program, args...)
			c.Dir = repo
			c.Env = append(os.Environ(), "TORN="+tornSecret, "HOME="+dir, "XDG_CACHE_HOME="+dir+"/cache",
				"XDG_STATE_HOME="+dir+"/state", "GIT_CONFIG_NOSYSTEM=1",
				"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A",
				"GIT_COMMITTER_EMAIL=a@localhost")
			out, err := c.CombinedOutput()
			if _, ended := err.(*exec.ExitError); err != nil && !ended {
				rt.Fatal(err)
			}
			return string(out)
		}
		do("git", "init", "-q")
		do("git", "add", "-A")
		do("git", "commit", "-q", "-m", "start")
		markmill := program
		sinks := map[string]string{}
		sinks["terminal"] = do(markmill, "run", "book.md", "../out.md", "--log-output", "--events", "../events",
			"--stdout-file", "../stdout", "--stderr-file", "../stderr")
		verified := do(markmill, "verify", "last")
		if !strings.Contains(verified, "everything holds") {
			rt.Fatalf("the record does not hold: %s", verified)
		}
		sinks["report"] = do(markmill, "run", "book.md", "../out.ipynb", "--json")
		if verified := do(markmill, "verify", "last"); !strings.Contains(verified, "everything holds") {
			rt.Fatalf("the record of the Jupyter notebook does not hold: %s", verified)
		}
		for _, args := range [][]string{{"show", "last"}, {"show", "last", "--log"}, {"notebook", "scraps",
			"../out.md"},
			{"convert", "../out.md", "../md.html"}, {"convert", "../out.ipynb", "../ipynb.html"},
			{"convert", "last", "../run.html"}, {"diff", "book.md", "../out.md"},
			{"diff", "--json", "book.md", "../out.md"},
			{"diff", "--html", "book.md", "../out.md"},
			{"diff", "--markdown", "book.md", "../out.ipynb"}, {"diff", "book.md", "last"},
			{"diff", "--html", "../out.md", "../out.ipynb"},
			{"test", "book.md", "--junit", "../junit.xml", "--update"}} {
			sinks[strings.Join(args, " ")] = do(markmill, args...)
		}
		err = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, name)
			if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(rel, filepath.Join("repo", "parts")) ||
				strings.HasPrefix(rel, filepath.Join("repo", ".git")+string(filepath.Separator)) {
				return err
			}
			b, err := os.ReadFile(name)
			sinks["file "+rel] = string(b)
			return err
		})
		if err != nil {
			rt.Fatal(err)
		}
		if len(sinks["file out.md"]) == 0 || len(sinks["file out.ipynb"]) == 0 || len(sinks["file md.html"]) == 0 ||
			len(sinks["file events"]) == 0 {
			rt.Fatalf("sinks are missing: %s", sinks["terminal"])
		}
		for name, text := range sinks {
			if showsTorn(text) {
				rt.Errorf("%s shows the secret: %q", name, text)
			}
		}
	})
}
