package markdown

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"markmill/notebooks"
)

// Every mistake is reported with its position and a fix.
func TestMistakes(t *testing.T) {
	cases := []struct{ name, file, src, want string }{
		{"unclosed fence", "a.md", "text\n\n```bash {#a}\necho\n",
			"a.md:3:1: the fence that opens in line 3 is never closed; write a line of ``` after its last line"},
		{"unclosed example", "a.md", "~~~~\necho",
			"a.md:1:1: the fence that opens in line 1 is never closed; write a line of ~~~~ after its last line"},
		{"step in a list", "a.md", "- x\n\n  ```bash {#a}\n  echo\n  ```\n",
			"a.md:3:3: a step stands inside a list, where it is not run; put its fence at the " +
				"left margin, outside of the list"},
		{"step in a quote", "a.md", "> ```bash {#a}\n> echo\n> ```\n",
			"a.md:1:3: a step stands inside a quote, where it is not run; put its fence at the " +
				"left margin, outside of the quote"},
		{"step in HTML", "a.md", "<details>\n```bash {#a}\necho\n```\n",
			"a.md:2:1: a step stands inside an HTML block, where it is not run; leave a blank line before its fence"},
		{"example in a list", "a.md", "- x\n\n  ```bash\n  echo\n  ```\n", ""},
		{"step after a blank line in HTML", "a.md", "<details>\n\n```bash {#a}\necho\n```\n\n</details>\n", ""},
		{"step in a comment", "a.md", "<!--\n```bash {#a timeout=never}\n-->\n", ""},
		{"open comment", "a.md", "x\n\n<!-- note\n```bash {#a}\n```\n",
			"a.md:3:1: the HTML that opens here is never closed, and hides all that follows; write --> where it ends"},
		{"duplicate id", "a.md", "```bash {#a}\n```\n```bash {#a}\n```\n",
			"a.md:3:1: step \"a\": the id is also that of the step in line 1; give one of them another id"},
		{"needs what comes later", "a.md", "```bash {#a needs=b}\n```\n```bash {#b needs=a}\n```\n",
			"a.md:1:13: step \"a\": needs: step \"b\" comes later, in line 3; move this step after it"},
		{"needs nothing known", "a.md", "```bash {#build}\n```\n```bash {#b needs=bulid}\n```\n",
			"a.md:3:13: step \"b\": needs: there is no step \"bulid\"; did you mean build?"},
		{"front matter", "a.md", "---\ntitel: x\nlimits: {file: 3}\nsandbox: hard\n" +
			"author: me\n---\n```bash {#a}\n```\n",
			"a.md:2:1: unknown key \"titel\" in the front matter; did you mean title?\n" +
				"a.md:3:9: limits: unknown limit \"file\"; did you mean files?\n" +
				"a.md:4:10: sandbox: expected on, off, strict, required, got \"hard\""},
		{"resources", "a.md", "---\nresources: {memory: 0, cpu: 1}\n---\n```bash {#a}\n```\n",
			"a.md:2:12: resources: memory: expected a limit above 0, got \"0\""},
		{"resources of no kind", "a.md", "---\nresources: {cpu: 1}\n---\n```bash {#a}\n```\n",
			"a.md:2:12: resources: unknown resource \"cpu\"; known are memory, processes, file-size, open-files"},
		{"resources that are not numbers", "a.md", "---\nresources: {processes: many}\n---\n```bash {#a}\n```\n",
			"a.md:2:12: resources: processes: expected a limit above 0, got \"many\""},
		{"resources without names", "a.md", "---\nresources: 2GiB\n---\n```bash {#a}\n```\n",
			"a.md:2:12: resources: expected {memory: 2GiB, processes: 256, file-size: 1GiB, open-files: 1024}"},
		{"front matter of a document", "a.md", "---\nnav: x\n---\ntext\n", ""},
		{"front matter of another tool", "a.md", "---\njupyter:\n  kernelspec: {language: python}\nmine: 1\n---\n", ""},
		{"key twice", "a.md", "---\ntitle: a\ntitle: b\n---\n",
			"a.md:3:1: the key \"title\" stands twice in the front matter; keep one"},
		{"a conflict around a step", "a.md", "# A\n<<<<<<< ours\n```bash {#a}\nls\n```\n=======\n>>>>>>> theirs\n",
			"a.md:2:1: a conflict of a merge begins here, and ends in line 7; keep what " +
				"is right, and delete Git's lines"},
		{"a conflict in prose", "a.md", "```bash {#a}\nls\n```\n\n<<<<<<< ours\none\n||||||| base\nnone\n=======\n" +
			"two\n>>>>>>> theirs\n", "a.md:5:1: a conflict of a merge begins here, and ends in line 11; keep what " +
			"is right, and delete Git's lines"},
		{"a conflict that an example shows", "a.md", "```text\n<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n" +
			"```\n\n```bash {#a}\nls\n```\n", ""},
		{"invalid YAML", "a.md", "---\ntitle: a: b\n---\n```bash {#a}\n```\n",
			"a.md:2:9: the front matter cannot be read: mapping values are not allowed in this " +
				"context; write it as YAML, key: value"},
		{"a byte that YAML does not allow", "a.md", "```yaml {.parameters}\nn: 1\nm: \x11\n```\n",
			"a.md:3:4: this is not YAML: control characters are not allowed (value: 17); take it out, or write " +
				"it as an escape in double quotes"},
		{"parameter twice", "a.md", "---\nparams: {n: 1}\n---\n```yaml {.parameters}\nn: 2\n```\n",
			"a.md:5:1: the parameter \"n\" is also declared in line 2; keep one of the two"},
		{"wrong expression", "a.md", "```bash {#a if=\"1 +\"}\n```\n",
			"a.md:1:13: step \"a\": if: the expression is wrong at its column"},
		{"column in characters", "a.md", "```bash {#ä🙂}\n```\n",
			"a.md:1:11: \"ä🙂\" cannot be an id: letters, digits, - _ . only, not first - or .; write #ä-"},
		{"not UTF-8", "a.md", "a\nb\xffc", "a.md:2:2: byte 0xff is not UTF-8; save the file as UTF-8"},
		{"UTF-16", "a.md", "\xff\xfea\x00", "a.md:1:1: the file is UTF-16, a notebook is UTF-8; save it as UTF-8"},
		{"NUL", "a.md", "ab\x00", "a.md:1:3: the file holds a NUL byte, so it is not a text; take the byte out"},
	}
	for _, c := range cases {
		nb, err := Parse(c.file, []byte(c.src))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want && !(strings.HasPrefix(got, c.want) && c.name == "wrong expression") {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
		if nb == nil || string(nb.Source) != c.src {
			t.Errorf("%s: the notebook is not returned", c.name)
		}
	}
}

const whole = `---
title: Check
timeout: 2m
allow: ["reports/**"]
limits: {files: 3, bytes: 1MB}
normalize: [durations, {name: ids, pattern: 'id=\d+', replace: id=N}]
require: [diff, tests]
strict: false
---

` + "```yaml {.parameters}\nthreshold: 1.0   # alert above\n```\n\n" +
	"```python {#collect}\nx = 1\n```\n\n" + "  ```bash {.test needs=collect}\n  test -s x\n    y\n" +
	"  ```\n\n" + "```bash\nprose\n```\n"

func TestParse(t *testing.T) {
	for _, ends := range []string{"\n", "\r\n"} {
		src := []byte("\ufeff" + strings.ReplaceAll(whole, "\n", ends))
		nb, err := Parse("a.md", src)
		if err != nil || len(nb.Warnings) > 0 {
			t.Fatal(err, nb.Warnings)
		}
		f := nb.Front
		if f.Title != "Check" || f.Timeout != 2*time.Minute ||
			f.Limits != (notebooks.Limits{Files: 3, Bytes: 1_000_000}) || *f.Strict || len(f.Normalize) != 2 {
			t.Errorf("front matter: %+v", f)
		}
		if len(nb.Params) != 1 || nb.Params[0].Name != "threshold" || nb.Params[0].Line != 12 {
			t.Errorf("parameters: %+v", nb.Params)
		}
		if want := bytes.Index(src, []byte("```python")) - len(ends); nb.ParamsAt != want {
			t.Errorf("ParamsAt %d, want %d", nb.ParamsAt, want)
		}
		if len(nb.Steps) != 2 || nb.Form != notebooks.FormNative {
			t.Fatalf("%d steps, %s", len(nb.Steps), nb.Form)
		}
		a, b := nb.Steps[0], nb.Step("step-2")
		if string(a.Code) != "x = 1\n" || a.Line != 15 || a.CodeLine != 16 || !a.Explicit {
			t.Errorf("%+v", a)
		}
		if b == nil || string(b.Code) != "test -s x\n  y\n" || b.Line != 19 || b.Explicit {
			t.Fatalf("%+v", b)
		}
		fence := string(src[b.Fence.Start:b.Fence.End])
		if !strings.HasPrefix(fence, "  ```bash") || !strings.HasSuffix(fence, "  ```"+ends) {
			t.Errorf("fence %q", fence)
		}
		if line, col := nb.Position(b.Fence.Start + 2); line != 19 || col != 3 {
			t.Errorf("position %d:%d", line, col)
		}
	}
}

func TestForms(t *testing.T) {
	cases := []struct {
		name, file, src string
		form            notebooks.Form
		steps           string
	}{
		{"jupytext header", "a.md", "---\njupyter:\n  kernelspec: {language: python, name: python3}\n---\n```python\n" +
			"1\n```\n\n```yaml\na: b\n```\n\n```python .noeval\n2\n```\n\n```bash\nls\n```\n",
			notebooks.FormJupytext, "step-1 python 5 \"1\\n\"; step-2 bash 17 \"ls\\n\""},
		{"jupytext text cell", "a.md", "---\njupyter: {kernelspec: {language: python}}\n---\n<!-- #region -->\n" +
			"```python\n1\n```\n<!-- #endregion -->\n\n```python\n2\n```\n",
			notebooks.FormJupytext, "step-1 python 10 \"2\\n\""},
		{"myst", "a.md", "---\nkernelspec: {language: julia, name: julia-1.1}\n---\n```{code-cell} ipython3\n" +
			":tags: [skip-execution, mine]\n:timeout: 5\n\n1\n```\n\n```{code-cell}\n---\ntags: [raises-exception]\n" +
			"slideshow: {x: y}\n---\n2\n```\n\n```{note}\nx\n```\n",
			notebooks.FormMyST, "step-1 julia .skip.mine timeout=5s 4 \"\\n1\\n\"; step-2 " +
				"julia .raises-exception 11 \"2\\n\""},
		{"quarto", "a.qmd", "```{python}\n#| label: fig-x\n#| echo: false\n#| fig-cap: \"a: b\"\n#| needs: []\n" +
			"plot()\n```\n\n```python\nprose\n```\n",
			notebooks.FormQuarto, ""},
		{"quarto options", "a.qmd", "```{python}\n#| label: fig-x\n#| echo: false\n#| tags: [test]\nplot()\n```\n",
			notebooks.FormQuarto, "fig-x python .hide-input.test 1 \"plot()\\n\""},
		{"quoted label", "a.Rmd", "```{r \"mine\", eval=FALSE}\nx\n```\n", notebooks.FormQuarto, "mine r .skip 1 " +
			"\"x\\n\""},
		{"runme", "a.md", "```sh {\"name\":\"build\"}\nmake\n```\n\n```sh { name=test }\nx\n```\n", notebooks.FormRunme,
			"build sh 1 \"make\\n\"; test sh 5 \"x\\n\""},
		{"auto ids beside the author's", "a.md", "```sh {#step-2}\n```\n\n```sh {.step}\n```\n", notebooks.FormNative,
			"step-2 sh 1 \"\"; step-2-2 sh .step 4 \"\""},
	}
	for _, c := range cases {
		nb, err := Parse(c.file, []byte(c.src))
		var steps []string
		for _, s := range nb.Steps {
			steps = append(steps, show(s)+" "+strconv.Itoa(s.Line)+" "+quote(string(s.Code)))
		}
		if c.name == "quarto" { // needs: [] is a mistake in line 5
			var list notebooks.ErrorList
			if !errors.As(err, &list) || list[0].Line != 5 || list[0].Col != 4 {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if got := strings.Join(steps, "; "); got != c.steps || nb.Form != c.form || err != nil {
			t.Errorf("%s (%s) %v\n got %s\nwant %s", c.name, nb.Form, err, got, c.steps)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"timeout", "cwd", "retries", "expect-exit", "needs"}
	for word, want := range map[string]string{
		"timeot": "timeout", "tiemout": "timeout", "expect_exit": "expect-exit", "Timeout": "timeout", "need": "needs",
		"retry": "", "zzz": "", "x": "", "": "", "timeout": "",
	} {
		if got := notebooks.Suggest(word, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, c := range infoStrings {
		f.Add([]byte("```" + c.info + "\n#| a: b\n:tags: [x]\n```\n"))
	}
	f.Add([]byte("---\nlimits: {files: -1}\nparams:\n  a: {type: int}\n---\n- ```sh {#a}\n> ~~~\n"))
	f.Add([]byte("+++\ntitle = 'x'\n+++\n<!-- #region -->\n<pre>\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		nb, err := Parse("f.md", src)
		if !bytes.Equal(nb.Source, src) {
			t.Fatal("the source was changed")
		}
		last := 0
		for i, s := range nb.Steps {
			if s.Index != i || s.Fence.Start < last || s.Fence.End > len(src) || s.ID == "" && err == nil {
				t.Fatalf("%+v", s)
			}
			last = s.Fence.End
		}
		if nb.ParamsAt > len(src) {
			t.Fatal(nb.ParamsAt)
		}
		if err != nil {
			for _, e := range err.(notebooks.ErrorList) {
				if e.Line < 1 || e.Msg == "" || strings.Contains(e.Error(), "\n") {
					t.Fatalf("%q", e.Error())
				}
			}
		}
	})
}
