package cmdtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/verify"
	"markmill/runs"
)

const mutatedNotebook = `---
params:
  word: {type: string, default: x}
  token: {type: secret, env: TOKEN}
---
# Everything that a run leaves

` + "```python {#show}" + `
import base64, os, pathlib, sys
print("out", word); print("err", file=sys.stderr)
glue("number", 5); glue("text", "a\nb")
picture = pathlib.Path(os.environ["MARKMILL_STEP_DIR"]) / "p.png"
picture.parent.mkdir(exist_ok=True)
picture.write_bytes(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))
glue("picture", picture, display=True)
` + "```" + `

` + "```bash {#change}" + `
echo "$word" > new; echo more >> old; printf 'a\0b' > binary
` + "```" + `

` + "```bash {#test .test}" + `
echo "3 passed, 0 failed"
` + "```" + `
`

// TestMutations changes real run directories in every class of bytes, one change at a time, and verify must see
// each. What it cannot see is a change that whoever made it has carried through all files. It tries every 48th change
// of a kind; with MARKMILL_ALL set, each.
func TestMutations(t *testing.T) {
	tried, missed := 0, 0
	for _, c := range []struct {
		output string
		kept   []string // of output notebooks
	}{{"out.md", []string{"output.md"}}, {"out.ipynb", nil}} {
		t.Run(c.output, func(t *testing.T) {
			m := mutate(t, c.output, c.kept)
			for _, kind := range slices.Sorted(maps.Keys(m.tried)) {
				t.Logf("%-28s %d", kind, m.tried[kind])
				tried += m.tried[kind]
			}
			missed += m.missed
		})
	}
	t.Logf("mutations: %d tried, %d caught", tried, tried-missed)
}

// mutate does that with the run directory of one run.
func mutate(t *testing.T, output string, kept []string) *mutator {
	if runtime.GOOS == "windows" {
		t.Skip("the interpreters of the notebook are for Unix")
	}
	for _, program := range []string{"git", "bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	dir := t.TempDir()
	executable, repo := builtProgram(t), filepath.Join(dir, "repo")
	for name, value := range map[string]string{"HOME": dir, "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"MARKMILL_DIR": "", "TOKEN": "hunter2-is-it", "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	command(t, dir, "git", "init", "-q", repo)
	write(t, filepath.Join(repo, "old"), "one\n")
	write(t, filepath.Join(repo, "n.md"), mutatedNotebook)
	command(t, repo, "git", "add", ".")
	command(t, repo, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")
	command(t, repo, executable, "run", "n.md", filepath.Join(dir, output), "--no-progress-bar")
	t.Chdir(repo)
	found, err := filepath.Glob(".markmill/runs/*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	m := &mutator{t: t, app: program.New(), dir: found[0], tried: map[string]int{}, seen: map[string]int{}}
	if v := m.verify(); len(v) > 0 {
		t.Fatalf("the run itself does not hold: %v", v)
	}
	var files []string
	err = filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != runs.LockFile {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		kinds[filepath.Base(file)] = true
		m.bytes(file)
		m.whole(file)
	}
	for _, want := range append(kept, "notebook.md", "events.jsonl", "stdout", "stderr", "result.json", "diff.patch",
		"scrap-picture.png",
		"report.json", "report.md", "test.log", "patch.diff", "trace.jsonl", "SHA256SUMS") {
		if !kinds[want] {
			t.Errorf("the run left no %s, so that nothing of that kind was tried", want)
		}
	}
	if len(kept) == 0 && (kinds["output.md"] || kinds["output.ipynb"] || !kinds["outputs.jsonl"]) {
		t.Error("the run directory keeps an output notebook, and was to make it again")
	}
	m.journal(runs.At(m.dir).File(runs.JournalFile))
	m.added()
	return m
}

type mutator struct {
	t      *testing.T
	app    *program.App
	dir    string
	tried  map[string]int
	seen   map[string]int // changes that were tried or left out, by kind
	missed int
}

func (m *mutator) verify() []string {
	v, err := verify.VerifyRecord(m.app, m.dir, "")
	if err == nil && v.OK() { // the rest, which is slower, is looked at when this has found nothing
		v, _, err = verify.Verify(m.app, m.dir, "")
	}
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, f := range v.Findings {
		out = append(out, f.String())
	}
	return out
}

// try expects that what was just done is seen.
func (m *mutator) try(kind, what string) {
	m.tried[kind]++
	if len(m.verify()) == 0 {
		m.missed++
		m.t.Errorf("%s: %s: nothing is found", kind, what)
	}
}

// with puts other bytes into a file, tries, and puts the old ones back.
func (m *mutator) with(file, kind, what string, change func([]byte) []byte) {
	old, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	now := change(bytes.Clone(old))
	if bytes.Equal(now, old) {
		return
	}
	if m.seen[kind]++; m.seen[kind]%48 != 1 && !everything() {
		return
	}
	if err := os.WriteFile(file, now, 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.try(kind, what)
	m.hidden(file, kind, what, now)
	if err := os.WriteFile(file, old, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// hidden does the same with a SHA256SUMS that has the new digest: other parts of the record must see it. What JSON
// does not mean, its spaces, is no change then.
func (m *mutator) hidden(file, kind, what string, now []byte) {
	name, err := filepath.Rel(m.dir, file)
	if err != nil {
		m.t.Fatal(err)
	}
	sums := runs.At(m.dir).File(runs.SumsFile)
	old, err := os.ReadFile(sums)
	if err != nil {
		m.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(old), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "  "+filepath.ToSlash(name)+"\n") })
	if i < 0 || name == runs.ReportFile && strings.Contains(what, "space") {
		return
	}
	lines[i] = runs.DigestOf(now).Hex() + lines[i][64:]
	if err := os.WriteFile(sums, []byte(strings.Join(lines, "")), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.try(kind+", sums too", what)
	if err := os.WriteFile(sums, old, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// bytes turns a bit at places all over a file.
func (m *mutator) bytes(file string) {
	info, err := os.Stat(file)
	if err != nil {
		m.t.Fatal(err)
	}
	places := int64(8)
	for i := range min(places, info.Size()) {
		at := i * info.Size() / min(places, info.Size())
		m.with(file, filepath.Base(file), fmt.Sprintf("bit of byte %d", at), func(b []byte) []byte {
			for b[at] == ' ' || b[at] == '\n' { // spaces of JSON: the next that means something
				at = (at + 1) % int64(len(b))
			}
			b[at] ^= 1
			return b
		})
	}
}

// whole cuts a file, adds to it, empties it, removes it, and puts a link to the same bytes in its place.
func (m *mutator) whole(file string) {
	kind := filepath.Base(file)
	m.with(file, kind, "half is gone", func(b []byte) []byte { return b[:len(b)/2] })
	m.with(file, kind, "the last byte, a space, is gone", func(b []byte) []byte { return b[:max(0, len(b)-1)] })
	m.with(file, kind, "it is empty", func([]byte) []byte { return nil })
	m.with(file, kind, "a space is added", func(b []byte) []byte { return append(b, ' ') })
	m.with(file, kind, "a line is added", func(b []byte) []byte { return append(b, "more\n"...) })
	aside := filepath.Join(m.t.TempDir(), "aside")
	if err := os.Rename(file, aside); err != nil {
		m.t.Fatal(err)
	}
	m.try(kind, "it is gone")
	if err := os.Symlink(aside, file); err != nil {
		m.t.Fatal(err)
	}
	m.try(kind, "it is a link")
	if err := os.Remove(file); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(aside, file); err != nil {
		m.t.Fatal(err)
	}
}

// journal changes each name and value of each event, and the lines' order.
func (m *mutator) journal(file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	lines = lines[:len(lines)-1]
	start := 0
	for n, line := range lines {
		dec := json.NewDecoder(bytes.NewReader(line))
		for {
			token, err := dec.Token()
			if err != nil {
				break
			}
			at := start + int(dec.InputOffset()) - 1
			if text, is := token.(string); is {
				if at--; text == "" {
					continue
				}
			} else if _, is := token.(json.Delim); is {
				continue
			}
			m.with(file, "journal, a value", fmt.Sprintf("event %d, byte %d, %v", n, at, token),
				func(b []byte) []byte { b[at] ^= 1; return b })
		}
		start += len(line)
		without := func(b []byte) []byte {
			return slices.Concat(slices.Concat(lines[:n]...), slices.Concat(lines[n+1:]...))
		}
		m.with(file, "journal, a line", fmt.Sprintf("event %d is gone", n), without)
		m.with(file, "journal, a line", fmt.Sprintf("event %d is there twice", n), func([]byte) []byte {
			return slices.Concat(slices.Concat(lines[:n+1]...), slices.Concat(lines[n:]...))
		})
		if n > 0 {
			m.with(file, "journal, a line", fmt.Sprintf("event %d comes before the one before it", n),
				func([]byte) []byte {
					other := slices.Clone(lines)
					other[n-1], other[n] = other[n], other[n-1]
					return slices.Concat(other...)
				})
			m.with(file, "journal, a line", fmt.Sprintf("it ends before event %d", n),
				func([]byte) []byte { return slices.Concat(lines[:n]...) })
		}
	}
}

// added puts files where there were none.
func (m *mutator) added() {
	for _, name := range []string{"more", "steps/more", "steps/01-show/more", ".hidden", "backend"} {
		path := filepath.Join(m.dir, filepath.FromSlash(name))
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			m.t.Fatal(err)
		}
		m.try("a file is added", name)
		if err := os.Remove(path); err != nil {
			m.t.Fatal(err)
		}
	}
}
