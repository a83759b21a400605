package markdown

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"markmill/notebooks"
)

// show formats a step on one line.
func show(s *notebooks.Step) string {
	parts := []string{string(s.ID), s.Lang}
	if len(s.Tags) > 0 {
		parts = append(parts, "."+strings.Join(s.Tags, "."))
	}
	add := func(name string, value any, set bool) {
		if set {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	add("timeout", s.Timeout, s.Timeout != 0)
	add("cwd", s.Cwd, s.Cwd != "")
	add("kernel", s.Kernel, s.Kernel != "")
	add("needs", s.Needs, s.Needs != nil)
	add("if", s.If, s.If != "")
	if s.ExpectExit != nil {
		add("exit", *s.ExpectExit, true)
	}
	add("retries", s.Retries, s.Retries != 0)
	add("normalize", s.Normalize, s.Normalize != nil)
	var env []string
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	sort.Strings(env)
	add("env", env, env != nil)
	return strings.Join(parts, " ")
}

// infoStrings maps the info strings of every form to steps. "" is prose; "!" begins an error, "?" a warning.
var infoStrings = []struct{ info, want string }{
	// prose
	{"", ""}, {"bash", ""}, {"python", ""}, {"yaml [Taskfile.yml]", ""}, {"js {1,3-5}", ""},
	{"ts {highlight: [1,2]}", ""},
	{`js title="a.js" showLineNumbers`, ""}, {"go {linenos=table,hl_lines=[8]}", ""}, {"python {.numberLines}", ""},
	{"yaml {.annotate}", ""}, {"text {.output}", ""}, {"diff {.diff}", ""}, {"yaml {.custom}", ""},
	{"{.python .numberLines}", ""},
	{"{=html}", ""}, {"{note}", ""}, {"{raw-cell}", ""}, {"{mermaid}", ""}, {"{{python}}", ""},
	{`sh {"id":"01HF7BT3HF9WY6"}`, ""},
	{`Vercel {"id":"01HF"}`, ""}, {"sh { interactive=false }", ""}, {`yaml name="values.yaml"`, ""}, {"js{1}", ""},
	{"bash {timeout=5m}", "? 1:10: the fence is not a step, so timeout= has no effect; add an id, {#name}, or {.step}"},
	// canonical
	{"bash {#build}", "build bash"}, {"Bash {#Build}", "Build bash"}, {"bash{#build}", "build bash"},
	{"bash {.step}", "step-1 bash .step"},
	{"bash {#v .test timeout=30s}", "v bash .test timeout=30s"},
	{"bash { #v  .test\ttimeout=90 }", "v bash .test timeout=1m30s"},
	{`bash {#a if="params.n > 1"}`, `a bash if=params.n > 1`}, {`bash {#a cwd="src/app/"}`, "a bash cwd=src/app"},
	{"bash {#a expect-exit=3 retries=2 kernel=db}", "a bash kernel=db exit=3 retries=2"},
	{"bash {#a normalize=durations,paths}", "a bash normalize=[durations paths]"},
	{`bash {#a env="A=1 B='two words'" env.C="x \"y\""}`, `a bash env=[A=1 B=two words C=x "y"]`},
	{"bash {.skip-execution .remove_cell .mine}", "step-1 bash .skip.hide-input.hide-output.mine"},
	{"python {.nbval-ignore-output .raises-exception}", "step-1 python .volatile.raises-exception"},
	{"ipython3 {#a}", "a python"}, {"yaml {#conf}", "conf yaml"}, {"cobol {.step}", "step-1 cobol .step"},
	{"bash {.slow}", "step-1 bash .slow"},
	{"bash {#a", "! 1:9: step \"a\": the brace of the info string is never closed; add } at the end of the line"},
	{"bash {#a} b", "! 1:13: step \"a\": text stands after the closing brace: \"b\"; move it " +
		"into the braces, or take it out"},
	{`bash {#a timeout="30s}`, "! 1:13: step \"a\": the quote of timeout= is never closed; " +
		"add \" at the end of the value"},
	{"bash {#a/b}", "! 1:11: \"a/b\" cannot be an id: letters, digits, - _ . only, not first - or .; write #a-b"},
	{"bash {#a #b}", "! 1:13: step \"a\": a second id, #b; a step has one id"},
	{"bash {#a timeot=3s}", `! 1:13: step "a": unknown attribute "timeot"; did you mean timeout?`},
	{"bash {#a id=x}", `! 1:13: step "a": unknown attribute "id"; write #x`},
	{"bash {#a test}", `! 1:13: step "a": "test" is neither #id, .tag nor name=value; write .test for a tag`},
	{"bash {#a timeout=1 timeout=2}", `! 1:23: step "a": timeout is given twice; keep one`},
	{"bash {#a timeout=soon}", `! 1:13: step "a": timeout: expected a time such as 30s, ` +
		`2m, 1h30m, or seconds, got "soon"`},
	{"bash {#a expect-exit=256}", `! 1:13: step "a": expect-exit: expected an exit code from ` +
		`0 to 255, such as expect-exit=1`},
	{"bash {#a retries=-1}", `! 1:13: step "a": retries: expected a number from 0 to 100, such as retries=2`},
	{"bash {#a cwd=../x}", `! 1:13: step "a": cwd: "../x" leaves the worktree`},
	{"bash {#a env=A}", `! 1:13: step "a": env: expected NAME=value, got "A", as in env="A=1 B='two words'"`},
	{"bash {#a needs=b}", `! 1:13: step "a": needs: there is no step "b"; name the id of a step before this one`},
	{"bash {#a needs=a}", `! 1:13: step "a": needs: the step needs itself; take it out`},
	{"{#a .test}", "a  .test"},
	{"bash {#ä timeot=1}", `! 1:13: step "ä": unknown attribute "timeot"; did you mean timeout?`},
	{"{.python #lst}", "? 1:6: the fence is not a step: its language is not its first word; " +
		"write ```python {#id} to run it"},
	// Jupytext
	{`python tags=["parameters"]`, "step-1 python .parameters"},
	{`python .class tags=["a", "b"] slideshow={"x": 1}`, "step-1 python .class.a.b"},
	{`python name="load" timeout=5`, "load python timeout=5s"}, {`bash name=build`, "build bash"},
	// Quarto and knitr
	{"{python}", "step-1 python"}, {"{r name, echo=FALSE, fig.width=5}", "name r .hide-input"},
	{`{python echo=TRUE}`, "step-1 python"},
	{`{r a-b, eval=FALSE, tags=c("x", 'y'), fig.cap="a, b"}`, "a-b r .skip.x.y"}, {"{bash #b .test}", "b bash .test"},
	{"{r, error=TRUE, results='hide'}", "step-1 r .allow-failure.hide-output"},
	{"{r, eval=nrow(x) > 1}", "? 1:8: eval=nrow(x) is an expression, which is not read; " +
		"the step runs; use if= instead"},
	{"{python, bogus=1}", "? 1:13: \"bogus\" has no effect"},
	{"{python", "! 1:4: the brace of the info string is never closed; add } at the end of the line"},
	// MyST
	{"{code-cell} python", "step-1 python"}, {"{code-cell} ipython3", "step-1 python"},
	// Runme
	{`sh {"name":"build"}`, "build sh"}, {"sh { name=build interactive=false }", "build sh"},
	{`sh {"name":"a","cwd":"x","excludeFromRunAll":"true"}`, "a sh .skip cwd=x"},
	{`sh {"id":"01J","name":"t","terminalRows":"15","promptEnv":"no"}`, "t sh"}, {`sh {"name":"a b"}`, "a-b sh"},
	{`sh {"name":"a","background":"true"}`, "a sh"}, {`python {"name":"a","background":"true"}`,
		`? 1:23: step "a": background=true of Runme has no effect: only shells run it so`},
	{`sh {"name":"a","name":"b"}`, `! 1:7: the JSON of the info string cannot be read; write ` +
		`{"name":"build"}, each key once`},
}

func TestInfoStrings(t *testing.T) {
	for _, c := range infoStrings {
		nb, err := Parse("", []byte("```"+c.info+"\ncode\n```\n"))
		got := ""
		switch {
		case err != nil:
			e := err.(notebooks.ErrorList)[0]
			got = fmt.Sprintf("! %d:%d: %v", e.Line, e.Col, e)
		case len(nb.Warnings) > 0:
			e := nb.Warnings[0]
			got = fmt.Sprintf("? %d:%d: %v", e.Line, e.Col, e)
		case len(nb.Steps) == 1:
			got = show(nb.Steps[0])
		}
		if got != c.want {
			t.Errorf("```%s\n got %s\nwant %s", c.info, got, c.want)
		}
	}
}

func FuzzInfoString(f *testing.F) {
	for _, c := range infoStrings {
		f.Add(c.info)
	}
	f.Fuzz(func(t *testing.T, info string) {
		if strings.ContainsAny(info, "\n\x00") {
			return
		}
		in := parseInfo(strings.TrimSpace(info), 3)
		for _, a := range append(in.attrs, attr{at: in.id.at}) {
			if a.at < 0 || a.at > 3+len(info) {
				t.Fatalf("%q: offset %d of %q", info, a.at, a.key)
			}
		}
		src := []byte("```" + info + "\ncode\n```\n")
		nb, _ := Parse("f.md", src)
		for _, s := range nb.Steps {
			if !notebooks.IsID(string(s.ID)) && !s.Explicit {
				t.Fatalf("id %q", s.ID)
			}
		}
	})
}
