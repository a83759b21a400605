package markdown

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
)

// reported lists the diagnostics of a text in order: R for what refuses a run, E for errors, W for warnings.
func reported(src string) string {
	nb, err := Parse("n.md", []byte(src))
	var lines []string
	for _, e := range nb.Refused {
		lines = append(lines, "R "+e.Error())
	}
	for _, w := range nb.Warnings {
		lines = append(lines, "W "+w.Error())
	}
	if err != nil {
		for _, e := range err.(notebooks.ErrorList) {
			lines = append(lines, "E "+e.Error())
		}
	}
	return strings.Join(append(lines, fmt.Sprint(len(nb.Steps))), "\n")
}

// Text that looks like front matter but is not read as such is an error with a line number; a thematic break is not.
func TestLostFrontMatter(t *testing.T) {
	const step = "```bash {#a}\ntrue\n```\n"
	for src, want := range map[string]string{
		"---\nallow: [x]\n\n# T\n\n" + step: "E n.md:1:1: the front matter is not read: it is never " +
			"closed; end it with a line of ---\n1",
		"---\nallow: [x]\n----\n\n" + step: "E n.md:3:1: the front matter is not read: \"----\" does not end " +
			"it; end it with a line of ---\n1",
		"---\nallow:\n  - x\n- y\n# why\nrequire: []\n--\n\n" +
			step: "E n.md:7:1: the front matter is not read: \"--\" does not end it; end it with a line of ---\n1",
		"---\nallow: [x]\n —\n\n" + step: "E n.md:1:1: the front matter is not read: it is never " +
			"closed; end it with a line of ---\n1",
		"\n---\nallow: [x]\n---\n\n" + step: "E n.md:2:1: the front matter is not read: it does not " +
			"begin in the first line; take out what stands before it\n1",
		"\r\n\r\n---\r\nallow: [x]\r\n---\r\n\r\n" + step: "E n.md:3:1: the front matter is not read: it does not " +
			"begin in the first line; take out what stands before it\n1",
		"\ufeff---\nallow: [x]\n----\n\n" + step: "E n.md:3:1: the front matter is not read: \"----\" does not " +
			"end it; end it with a line of ---\n1",
		"\ufeff\n---\nallow: [x]\n---\n\n" + step: "E n.md:2:1: the front matter is not read: it does not begin " +
			"in the first line; take out what stands before it\n1",
		"----\nallow: [x]\n----\n\n" + step: "E n.md:1:1: the front matter is not read: it begins with " +
			"\"----\"; begin and end it with a line of ---\n1",
		" ---\nallow: [x]\n ---\n\n" + step: "E n.md:1:1: the front matter is not read: it begins with \" " +
			"---\"; begin and end it with a line of ---\n1",
		"---\nreqire: [tests]\n\n" + step: "E n.md:1:1: the front matter is not read: it is never " +
			"closed; end it with a line of ---\n1",
		"---\nallow : [x]\nno yaml any more\n" + step: "E n.md:1:1: the front matter is not read: it is never " +
			"closed; end it with a line of ---\n1",
		"---\n" + step:                               "1",
		"---\n\n" + step:                             "1",
		"---\nNote: a rule is above.\n\n" + step:     "1",
		"---\nSee this: a rule is above.\n\n" + step: "1",
		"---\nsome words\n\n" + step:                 "1",
		"----\n\ntitle: x\n\n" + step:                "1",
		"\n\n---\n\ntitle: x\n" + step:               "1",
		"- -\n\n" + step:                             "1",
		"\ufeff---\nallow: [x]\n---\n" + step:        "1",
		"---\nallow: [x]\n...\n" + step:              "1",
	} {
		if got := reported(src); got != want {
			t.Errorf("%q:\n%s\nexpected\n%s", src, got, want)
		}
	}
}

// A near miss of a word that Markmill knows is told, with what it would be. In its own Markdown no run begins with it.
func TestNearMisses(t *testing.T) {
	const not = "the fence is not a step: "
	const none = "the fence declares no parameters: "
	for _, c := range []struct{ info, want string }{
		// parameters
		{"yaml parameters", "R 1:9: " + none + `"parameters" is not its tag; write ` + "```yaml {.parameters}"},
		{"yaml {parameters}", "R 1:10: " + none + `"parameters" is not its tag; write ` + "```yaml {.parameters}"},
		{"yaml {#parameters}", "R 1:11: " + none + `"parameters" is not its tag; write ` + "```yaml {.parameters}"},
		{"yaml params", "R 1:9: " + none + `"params" is not its tag; write ` + "```yaml {.parameters}"},
		{"yaml {.params}", "R 1:11: " + none + `"params" is not its tag; write ` + "```yaml {.parameters}"},
		{"yaml {.parameter}", "R 1:11: " + none + `"parameter" is not its tag; write ` + "```yaml {.parameters}"},
		{"yml {.paramters}", "R 1:10: " + none + `"paramters" is not its tag; write ` + "```yml {.parameters}"},
		{"json {.paramaters}", "R 1:11: " + none + `"paramaters" is not its tag; write ` + "```json {.parameters}"},
		{"json .parameters", "0"}, // which Jupytext writes so
		{"yaml {tags=params}", "R 1:10: " + none + `"params" is not its tag; write ` + "```yaml {.parameters}"},
		{"python {.params}", "R 1:13: the tag .params has no meaning; did you mean .parameters?"},
		{"python {#params}", "W 1:1: the step declares no parameters: an id is no tag; write {.parameters}"},
		{"yaml Parameters of the run", "0"},
		{"yaml", "0"},
		{"json {.schema}", "0"},
		// tags of steps
		{"bash {#v .tset}", "R 1:14: the tag .tset has no meaning; did you mean .test?"},
		{"bash {#v .tests}", "R 1:14: the tag .tests has no meaning; did you mean .test?"},
		{"bash {#v .Test}", "R 1:14: the tag .Test has no meaning; did you mean .test?"},
		{"bash {#v .tst}", "R 1:14: the tag .tst has no meaning; did you mean .test?"},
		{"bash {#v .finaly}", "R 1:14: the tag .finaly has no meaning; did you mean .finally?"},
		{"bash {#v .setpu}", "R 1:14: the tag .setpu has no meaning; did you mean .setup?"},
		{"bash {#v .chek}", "R 1:14: the tag .chek has no meaning; did you mean .check?"},
		{"bash {#v .skp}", "R 1:14: the tag .skp has no meaning; did you mean .skip?"},
		{"bash {#v .allow-failures}", "R 1:14: the tag .allow-failures has no meaning; did you mean .allow-failure?"},
		{"bash {#v .allowfailure}", "R 1:14: the tag .allowfailure has no meaning; did you mean .allow-failure?"},
		{"bash {#v .raise-exception}",
			"R 1:14: the tag .raise-exception has no meaning; did you mean .raises-exception?"},
		{"bash {#v .nochange}", "R 1:14: the tag .nochange has no meaning; did you mean .no-change?"},
		{"bash {#v .volatil}", "R 1:14: the tag .volatil has no meaning; did you mean .volatile?"},
		{"bash {#v .hide-ouput}", "R 1:14: the tag .hide-ouput has no meaning; did you mean .hide-output?"},
		{"bash {#v .reviews}", "R 1:14: the tag .reviews has no meaning; did you mean .review?"},
		{"bash {#v tags=tset}", "R 1:13: the tag .tset has no meaning; did you mean .test?"},
		{"bash {#v .test}", "0"},
		{"bash {#v .rest}", "0"},
		{"bash {#v .text}", "0"},
		{"bash {#v .preview}", "0"},
		{"bash {#v .mine}", "0"},
		{"bash {#v .allow_failure}", "0"},
		// fences that are almost steps
		{"bash {.tests}", "R 1:11: " + not + `".tests" is no tag; write {.test}`},
		{"bash {test}", "R 1:10: " + not + `"test" is no tag; write {.test}`},
		{"bash {tset}", "R 1:10: " + not + `"tset" is no tag; write {.test}`},
		{"bash test", "R 1:9: " + not + `"test" stands outside of braces; write {.test}`},
		{"bash setpu", "R 1:9: " + not + `"setpu" stands outside of braces; write {.setup}`},
		{"bash .test", "R 1:10: " + not + "its tag stands outside of braces; write {.test}"},
		{"bash .tset", "R 1:10: " + not + "its tag stands outside of braces; write {.test}"},
		{"bash {id=k}", "R 1:10: " + not + "id= gives no id; write {#k}"},
		{"bash #i", "W 1:9: " + not + "its id stands outside of braces; write {#i}"},
		{"bash {x}", "W 1:10: " + not + `"x" is neither an id nor a tag; write {#x} to run it`},
		{"bash {timeout=3}",
			"W 1:10: " + not[:len(not)-2] + ", so timeout= has no effect; add an id, {#name}, or {.step}"},
		{"bash {expect_exit=3}",
			"W 1:10: " + not[:len(not)-2] + ", so expect_exit= has no effect; add an id, {#name}, or {.step}"},
		{"{pyhton}", "W 1:4: " + not + `the language "pyhton" is not known; did you mean {python}?`},
		// attributes
		{"bash {#v expect_exit=1}", `E 1:13: unknown attribute "expect_exit"; did you mean expect-exit?`},
		{"bash {#v need=a}", `E 1:13: unknown attribute "need"; did you mean needs?`},
		{"bash {#v time-out=1}", `E 1:13: unknown attribute "time-out"; did you mean timeout?`},
		// names in expressions
		{`bash {#v if="params.x > 1"}`, `R 1:13: if: there is no parameter "x"; declare it, or ask with defined(params.x)`},
		{`bash {#v if="params.limi > 1"}`, `R 1:13: if: there is no parameter "limi"; did you mean limit?`},
		{`bash {#v if="parms.limit > 1"}`, `R 1:13: if: nothing is called "parms"; did you mean params?`},
		{`bash {#v if="limt > 1"}`, `R 1:13: if: nothing is called "limt"; did you mean limit?`},
		{`bash {#v if="passed('lst')"}`, `R 1:13: if: there is no step "lst"; did you mean last?`},
		{`bash {#v if="other > 1"}`, `W 1:13: if: no step before this one names a scrap "other"; record it first, or ask ` +
			"with defined(other)"},
		{`bash {#v if="scraps.other > 1"}`, `W 1:13: if: no step before this one names a scrap "other"; record it first, ` +
			"or ask with defined(scraps.other)"},
		{`bash {#v if="defined(params.x) and defined(other)"}`, "0"},
		{`bash {#v if="limit > 1 and params.limit > 1 and passed('last')"}`, "0"},
		// words of others
		{"text {.tests}", "0"},
		{"text {.tset}", "0"},
		{"{.tests}", "0"},
		{"{note}", "0"},
		{"{table} Caption", "0"},
		{"bash {1,3-5}", "0"},
		{"js {1-3} title=x", "0"},
		{"bash {linenos=table}", "0"},
		{"python {numberLines}", "0"},
		{"python Load the test data", "0"},
		{"ts twoslash", "0"},
		{"bash # a comment", "0"},
		{"text {x}", "0"},
		{"console {id=k}", "0"},
		{"console test", "0"},
	} {
		front := "---\nparams: {limit: 1}\n---\n"
		if strings.Contains(c.info, "#param") {
			front = "---\ntitle: t\nmode: worktree\n---\n"
		}
		const last = "\n```bash {#last}\ntrue\n```\n"
		got := reported(front + "```" + c.info + "\n{}\n```\n" + last)
		got = strings.ReplaceAll(got, "n.md:4:", "1:")
		got = strings.ReplaceAll(got, "n.md:5:", "1:")
		got = strings.NewReplacer(`step "v": `, "", `step "step-1": `, "", `step "params": `, "").Replace(got)
		if said := strings.Split(got, "\n"); c.want == "0" && len(said) == 1 || said[0] == c.want && len(said) == 2 {
			continue
		}
		t.Errorf("%s:\n%s\nexpected\n%s", c.info, got, c.want)
	}
	for src, want := range map[string]string{ // words in files of other tools, and in those without a step
		"---\nformat: html\n---\n\n```{python}\n#| tags: [tset]\n```\n": "W n.md:6:4: the tag .tset has " +
			"no meaning; did you mean .test?\n1",
		"```bash test\n```\n": "W n.md:1:9: the fence is not a step: \"test\" stands outside of braces; " +
			"write {.test}\n0",
	} {
		if got := reported(src); got != want {
			t.Errorf("%q:\n%s\nexpected\n%s", src, got, want)
		}
	}
}

// Merge conflict markers in a step are an error, or a warning where the code may write them as text.
func TestConflictsInSteps(t *testing.T) {
	const conflict = "<<<<<<< HEAD\necho ours\n=======\necho theirs\n>>>>>>> other\n"
	const bad = "n.md:3:1: step \"a\": a conflict of a merge begins here; keep what is right, and delete Git's lines\n1"
	const odd = "W n.md:3:1: step \"a\": these look like the lines of a conflict of a merge; keep what " +
		"is right, and delete Git's lines\n1"
	for code, want := range map[string]string{
		"echo\n" + conflict:                                  "E " + bad,
		"cat <<E >x\n" + conflict + "E\n":                    odd,
		"cat <<-'E' >x\n" + conflict + "E\n":                 odd,
		"x = \"\"\"\n" + conflict + "\"\"\"\n":               odd,
		"echo\n=======\n>>>>>>> other\n":                     "1",
		"echo\n<<<<<<< HEAD\n>>>>>>> other\n":                "1",
		"echo x\n    <<<<<<< HEAD\n=======\n>>>>>>> other\n": "1",
	} {
		if got := reported("```bash {#a}\n" + code + "```\n"); got != want {
			t.Errorf("%q:\n%s\nexpected\n%s", code, got, want)
		}
	}
	if got := reported("```diff\nx\n" + conflict + "```\n\n```bash {#a}\ntrue\n```\n"); got != "1" {
		t.Error(got)
	}
}
