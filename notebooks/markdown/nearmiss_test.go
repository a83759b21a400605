package markdown

import (
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
)

// reported lists the diagnostics of a text in order: E for errors, W for warnings.
func reported(src string) string {
	nb, err := Parse("n.md", []byte(src))
	var lines []string
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

// A misspelled step is reported. The class of an output block is not a tag.
func TestMisspelledSteps(t *testing.T) {
	for info, want := range map[string]string{
		"bash {.tests}": "E n.md:1:11: the tag .tests means nothing: it marks the tests in " +
			"an output notebook; write .test\n0",
		"bash {#v .tests}": "E n.md:1:14: step \"v\": the tag .tests means nothing: it marks the tests in " +
			"an output notebook; write .test\n1",
		"text {.tests}":     "0",
		"{.tests}":          "0",
		"bash {#v .test}":   "1",
		"bash {#v .finaly}": "W n.md:1:14: step \"v\": the tag .finaly has no meaning; did you mean .finally?\n1",
		"bash {#v .setpu}":  "W n.md:1:14: step \"v\": the tag .setpu has no meaning; did you mean .setup?\n1",
		"bash {#v .mine}":   "1",
		"bash {id=k}":       "W n.md:1:10: the fence is not a step: id= gives no id; write {#k}\n0",
		"bash #i":           "W n.md:1:9: the fence is not a step: its id stands outside of braces; write {#i}\n0",
		"bash .test": "W n.md:1:10: the fence is not a step: its tag stands " +
			"outside of braces; write {.test}\n0",
		"bash {x}": "W n.md:1:10: the fence is not a step: \"x\" is neither an id " +
			"nor a tag; write {#x} to run it\n0",
		"bash {test}": "W n.md:1:10: the fence is not a step: \"test\" is no tag; write {.test}\n0",
		"{pyhton}": "W n.md:1:4: the fence is not a step: the language \"pyhton\" is not " +
			"known; did you mean {python}?\n0",
		"{note}":               "0",
		"{table} Caption":      "0",
		"bash {1,3-5}":         "0",
		"js {1-3} title=x":     "0",
		"bash {linenos=table}": "0",
		"python {numberLines}": "0",
		"ts twoslash":          "0",
		"bash # a comment":     "0",
		"text {x}":             "0",
		"console {id=k}":       "0",
	} {
		if got := reported("```" + info + "\ntrue\n```\n"); got != want {
			t.Errorf("%s:\n%s\nexpected\n%s", info, got, want)
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
