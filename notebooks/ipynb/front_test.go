package ipynb

import (
	"fmt"
	"strings"
	"testing"
)

// runnableOf builds a notebook from metadata and cells, and reads it as a run does.
func runnableOf(t *testing.T, metadata, cells string) (string, string) {
	t.Helper()
	nb, err := Parse("n.ipynb", []byte("{\"metadata\": "+metadata+",\n\"cells\": ["+cells+
		"],\n\"nbformat\": 4, \"nbformat_minor\": 5}"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := nb.Runnable()
	f := run.Front
	text := fmt.Sprintf("title=%s kernel=%s timeout=%v allow=%v require=%v secrets=%v strict=%v files=%d", f.Title,
		f.Kernel, f.Timeout, f.Allow, f.Require, f.Secrets, f.Strict != nil && *f.Strict, f.Limits.Files)
	for _, p := range run.Params {
		text += fmt.Sprintf("\nparam %s %s %d:%d", p.Name, p.Type, p.Line, p.Col)
	}
	for _, s := range run.Steps {
		text += fmt.Sprintf("\nstep %s %s %v timeout=%v needs=%v env=%v exit=%v code %d %q",
			s.ID, s.Lang, s.Tags, s.Timeout,
			s.Needs, s.Env, s.ExpectExit != nil, s.CodeLine, s.Code)
	}
	for _, w := range run.Warnings {
		text += "\nwarning " + w.Error()
	}
	if err == nil {
		return text, ""
	}
	return text, err.Error()
}

func codeCell(id, metadata, source string) string {
	return fmt.Sprintf(`{"cell_type": "code", "id": %q, "metadata": %s, "outputs": [], "execution_count": null, `+
		`"source": %q}`, id, metadata, source)
}

func TestFrontMatter(t *testing.T) {
	raw := func(source string) string {
		return `{"cell_type": "raw", "id": "r", "metadata": {}, "source": ` + source + `}, ` + codeCell("a", "{}", "1")
	}
	for name, c := range map[string]struct{ metadata, cells, want, err string }{
		"metadata": {`{"title": "weaker", "kernelspec": {"name": "python3"}, "markmill": {"manifest": {}, "front": ` +
			`{"title": "T\ud83d\ude0d", "timeout": "2m", "allow": ["out/**"], "require": ["tests"], "strict": true, ` +
			`"limits": {"files": 3}, "secrets": ["K"],
 "params": {"n": {"type": "int", "min": 1, "default": 3}}}}}`, codeCell("a", "{}", "1"),
			"title=T😍 kernel=python3 timeout=2m0s allow=[out/**] require=[tests] secrets=[K] strict=true files=3\n" +
				"param n int 2:13\nstep a python [] timeout=0s needs=[] env=map[] exit=false code 3 \"1\"", ""},
		"mistakes": {`{"markmill": {"front": {"timeout": "soon",
  "alow": ["x"], "strict": "maybe"}}}`, codeCell("a", "{}", "1"), "",
			"n.ipynb:1:49: timeout: expected a time such as 30s, 2m, 1h30m, or seconds, got \"soon\"\n" +
				"n.ipynb:2:3: unknown key \"alow\" in the front matter; did you mean allow?\n" +
				"n.ipynb:2:28: strict: expected true or false"},
		"no object": {`{"markmill": {"front": "x"}}`, codeCell("a", "{}", "1"), "",
			"n.ipynb:1:37: the front matter cannot be read: names and values were expected"},
		"raw cell": {`{}`, raw(`["---\n", "title: R\n", "allow: [a]\n", "format: html\n", "alow: 1\n", "---"]`),
			"title=R kernel= timeout=0s allow=[a] require=[] secrets=[] strict=false files=0\n" +
				"step a  [] timeout=0s needs=[] env=map[] exit=false code 2 \"1\"\n" +
				"warning n.ipynb:2:128: unknown key \"alow\" in the front matter; did you mean allow?", ""},
		"raw cell with a backslash before an n": {`{}`, raw(`"---\ntitle: \"a\\nb\"\u000Aalow: 1\n---\n"`),
			"title=a\nb kernel= timeout=0s allow=[] require=[] secrets=[] strict=false files=0\n" +
				"step a  [] timeout=0s needs=[] env=map[] exit=false code 2 \"1\"\n" +
				"warning n.ipynb:2:97: unknown key \"alow\" in the front matter; did you mean allow?", ""},
		"raw cell, a text": {`{}`, raw(`"---\ntimeout: nope\nallow: a\n---\n"`), "",
			"n.ipynb:2:84: timeout: expected a time"},
		"raw cell, no front matter": {`{}`, raw(`"---\na rule\n"`),
			"title= kernel= timeout=0s allow=[] require=[] secrets=[] strict=false files=0\n" +
				"step a  [] timeout=0s needs=[] env=map[] exit=false code 2 \"1\"", ""},
		"raw cell that is not closed": {`{}`, raw(`"---\nallow: a\n"`), "",
			"n.ipynb:2:70: the front matter is not read: it is never closed; end it with a line of ---"},
		"raw cell that is closed by a slip": {`{}`, raw(`"---\nallow: a\n----\n"`), "",
			"n.ipynb:2:85: the front matter is not read: \"----\" does not end it; end it with a line of ---"},
		"raw cell with an empty line on top": {`{}`, raw(`"\n---\nallow: a\n---\n"`), "",
			"n.ipynb:2:72: the front matter is not read: it does not begin in the first line; " +
				"take out what stands before it"},
		"front matter in a Markdown cell": {`{}`, strings.Replace(raw(`"---\nallow: a\n---\n"`), "\"raw\"",
			"\"markdown\"", 1), "", "n.ipynb:2:75: the front matter is not read: it does not stand where it is " +
			"looked for; put it into a raw cell, the first of the notebook"},
		"title in a Markdown cell": {`{}`, strings.Replace(raw(`"---\ntitle: a\n---\n"`), "\"raw\"", "\"markdown\"", 1),
			"title= kernel= timeout=0s allow=[] require=[] secrets=[] strict=false files=0\n" +
				"step a  [] timeout=0s needs=[] env=map[] exit=false code 2 \"1\"", ""},
		"conflict in a cell": {`{}`, codeCell("a", "{}", "x\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> b"), "",
			"n.ipynb:3:1: step \"a\": a conflict of a merge begins here; keep what is right, and delete Git's lines"},
		"raw cell that is no YAML": {`{}`, raw(`"---\na: b: c\n---"`), "", "\x00warning n.ipynb:2"},
		"both": {`{"markmill": {"front": {"allow": ["a"]}}}`, raw(`"---\nallow: [b]\n---"`), "",
			"n.ipynb:2:75: the key \"allow\" stands twice in the front matter; keep one"},
		"second raw cell": {`{}`, codeCell("a", "{}", "1") + ", " + raw(`"---\nallow: [b]\n---"`),
			"title= kernel= timeout=0s allow=[] require=[] secrets=[] strict=false files=0\n" +
				"step a  [] timeout=0s needs=[] env=map[] exit=false code 2 \"1\"\n" +
				"step a-2  [] timeout=0s needs=[] env=map[] exit=false code 2 \"1\"\n" +
				"warning n.ipynb:2:227: the id \"a\" is also that of cell 1; Jupyter gives one of them " +
				"a new id when it opens the file", ""},
		"options": {`{"kernelspec": {"name": "python3"}}`,
			codeCell("a", `{"tags": ["test"], "markmill": {"added": false, "result": {}, "timeout": "3s", "env": `+
				`{"A": "1", "B": 2}, "expect-exit": 1, "tags": ["nbval-skip"]}}`, "1") + ",\n" +
				codeCell("b", `{"markmill": {"name": "other", "needs": ["a"], "language": "bash", "spelling": {}}}`,
					"%%bash\nls"),
			"title= kernel=python3 timeout=0s allow=[] require=[] secrets=[] strict=false files=0\n" +
				"step a python [test skip] timeout=3s needs=[] env=map[A:1 B:2] exit=true code 2 \"1\"\n" +
				"step other bash [] timeout=0s needs=[a] env=map[] exit=false code 4 \"ls\"", ""},
		"options that nobody knows": {`{}`, codeCell("a", `{"markmill": {"timout": "3s"}}`, "1"), "",
			"n.ipynb:2:80: step \"a\": unknown attribute \"timout\"; did you mean timeout?"},
		"parameters block": {`{"kernelspec": {"name": "python3"}}`,
			codeCell("a", `{"tags": ["parameters"], "markmill": {"block": "n: {type: float, default: 1}\n"}}`, "n = 1"),
			"title= kernel=python3 timeout=0s allow=[] require=[] secrets=[] strict=false files=0\n" +
				"param n float 2:1\nstep a python [parameters] timeout=0s needs=[] env=map[] " +
				"exit=false code 2 \"n = 1\"", ""},
	} {
		got, err := runnableOf(t, c.metadata, c.cells)
		if want, ok := strings.CutPrefix(c.err, "\x00"); ok {
			if err != "" || !strings.Contains(got, want) {
				t.Errorf("%s: got\n%s\n%s", name, got, err)
			}
			continue
		}
		if c.err == "" && (err != "" || got != c.want) || c.err != "" && !strings.Contains(err, c.err) {
			t.Errorf("%s: got\n%s\n%s\nwant\n%s\n%s", name, got, err, c.want, c.err)
		}
	}
}
