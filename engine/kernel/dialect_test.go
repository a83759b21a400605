//go:build unix

package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"markmill/engine/kernel/jupyter"
)

// thorough asks for more of the same: larger outputs and more repetitions. CI sets it.
var thorough = os.Getenv("MARKMILL_ALL") != ""

// dialect is how the conformance suite says things to one kernel: the sections of the file in testdata/dialects that
// is named after the kernel. A section that is empty or missing is something that the kernel cannot do by its nature,
// and the test of it is skipped by name. "like" names a dialect that this one changes.
//
// Sections that are steps: set keeps the value 1, value prints it; define makes a function, get calls it and prints
// "kept 1"; chdir changes to the parent folder, where prints the working folder; env prints the variable STEP_VAR, or
// "none"; fail ends with exit code 3, without ending the session; raise fails on its line 2; big prints {bytes} times
// "x"; both prints o1 and o2 on stdout and e1 and e2 on stderr; bytes prints ff 00 fe; stdin prints "eof" if standard
// input is empty; die prints "last" and kills its own interpreter with signal 9; wait prints "ready" and waits (in
// Python in short sleeps: CPython sleeps on if a signal comes just before the system call); hang prints "ready", waits,
// and ignores interrupt and term; closes closes stdout and stderr; closes-all closes every descriptor from 3 on;
// endless leaves processes that print on both streams without end.
//
// Sections that are steps with holes: say prints {text}, show prints the parameter {name}, glue records {text} as the
// scrap {name}, scrap prints that scrap, and shell runs {code} in sh, on its own streams, and fails if that fails. All
// print no newline of their own. {text} and {code} are string literals, written as quote says: shell ('…'), double
// ("…" with \x escapes) or single ('…' with \' and \\).
//
// Others: raised is the name of the exception of raise, if the kernel reports it with its line; last is what is seen
// of die's output; interrupt is "no" if an interrupt ends the interpreter, or is no failure with 130; late is "no" if
// output of processes that a step left is not read as it comes.
type dialect struct {
	kernel   Kernel
	sections map[string]string
}

func (d dialect) step(name string) string { return d.sections[name] }

// fill fills in a section's placeholders, given as pairs of name and text.
func (d dialect) fill(section string, holes ...string) string {
	for i := 0; i < len(holes); i += 2 {
		if holes[i] == "text" || holes[i] == "code" && d.sections["shell"] != "{code}" {
			holes[i+1] = d.quoted(holes[i+1])
		}
		holes[i] = "{" + holes[i] + "}"
	}
	return strings.NewReplacer(holes...).Replace(d.sections[section])
}

func (d dialect) say(text string) string        { return d.fill("say", "text", text) }
func (d dialect) show(name string) string       { return d.fill("show", "name", name) }
func (d dialect) glue(name, text string) string { return d.fill("glue", "name", name, "text", text) }
func (d dialect) scrap(name string) string      { return d.fill("scrap", "name", name) }
func (d dialect) shell(code string) string      { return d.fill("shell", "code", code) }

func (d dialect) quoted(text string) string {
	switch d.sections["quote"] {
	case "shell":
		return singleQuote(text)
	case "single":
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
	}
	return doubleQuoted(text)
}

// doubleQuoted is text as a literal of Python and of JavaScript.
func doubleQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// dialects are those of the built-in kernels, of a command, and of Jupyter's kernels that are installed.
func dialects(t *testing.T) []dialect {
	kernels := append(Table(), NewCommand("script", []string{"sh", "{file}"}))
	for _, name := range jupyterNames() {
		if k, ok := peerKernel(name); ok {
			kernels = append(kernels, k)
		}
	}
	var all []dialect
	for _, k := range kernels {
		name := strings.TrimPrefix(strings.ReplaceAll(k.Name(), ":", "-"), "command-")
		all = append(all, dialect{k, readDialect(t, name)})
	}
	return all
}

// jupyterNames are the kernels of Jupyter that have a dialect.
func jupyterNames() []string {
	files, _ := filepath.Glob(filepath.Join("testdata", "dialects", "jupyter-*.txt"))
	for i, file := range files {
		files[i] = strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".txt"), "jupyter-")
	}
	return files
}

func readDialect(t *testing.T, name string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "dialects", name+".txt"))
	if err != nil {
		t.Fatalf("the kernel has no dialect: %v", err)
	}
	sections := map[string]string{}
	for _, f := range archive.Files {
		text := strings.TrimSuffix(string(f.Data), "\n")
		if f.Name == "like" {
			sections = readDialect(t, text)
			continue
		}
		sections[f.Name] = text
	}
	return sections
}

// peerKernel is a kernel of Jupyter in the environment of the Python that MARKMILL_PEERS names, or of the distribution.
func peerKernel(name string) (Kernel, bool) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		return nil, false
	}
	for _, share := range []string{filepath.Join(filepath.Dir(filepath.Dir(python)), "share"), "/usr/share"} {
		if spec, err := jupyter.Load(filepath.Join(share, "jupyter", "kernels", name)); err == nil {
			return NewJupyter(spec), true
		}
	}
	return nil, false
}

// each runs a test for every kernel whose dialect has the section; "" for every kernel.
func each(t *testing.T, section string, test func(t *testing.T, d dialect)) {
	for _, d := range dialects(t) {
		t.Run(d.kernel.Name(), func(t *testing.T) {
			t.Parallel() // one waits for an interpreter while another computes
			if section != "" && d.step(section) == "" {
				t.Skip("not a thing of this kernel: " + section)
			}
			test(t, d)
		})
	}
}
