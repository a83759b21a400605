package percent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
)

// told returns a script as its cells, a line each.
func told(t *testing.T, name, src string) string {
	t.Helper()
	s, err := Parse(name, []byte(src))
	if err != nil {
		return "error " + err.Error()
	}
	var b strings.Builder
	for _, c := range s.Cells {
		fmt.Fprintf(&b, "%d/%d %s", c.Line, c.CodeLine, c.Kind)
		if c.Lang != s.Lang {
			b.WriteString(" " + c.Lang)
		}
		if c.Depth > 0 || c.Short {
			fmt.Fprintf(&b, " depth %d %v", c.Depth, c.Short)
		}
		if c.Title != "" {
			fmt.Fprintf(&b, " %q", c.Title)
		}
		for _, f := range c.Metadata {
			fmt.Fprintf(&b, " %s=%s", f.Name, f.Value)
		}
		fmt.Fprintf(&b, " %q\n", c.Source)
	}
	for _, w := range s.Warnings {
		b.WriteString("warning " + w.Error() + "\n")
	}
	return b.String()
}

const jupytextHeader = "# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n" +
	"#       format_name: %s\n# ---\n\n"

func TestParse(t *testing.T) {
	header := fmt.Sprintf(jupytextHeader, "percent")
	for name, c := range map[string]struct{ file, src, want string }{
		"empty":            {"a.py", "", ""},
		"no marker":        {"a.py", "import os\n\n\nprint(1)\n", "1/1 code \"import os\\n\\n\\nprint(1)\"\n"},
		"before the first": {"a.py", "import os\n# %%\n1\n", "1/1 code \"import os\"\n2/3 code \"1\"\n"},
		"blank before":     {"a.py", "\n\n# %%\n1\n", "3/4 code \"1\"\n"},
		"spellings": {"a.py", "#%%\na\n# %% \nb\n  # %%\nc\n# <codecell>\nd\n# In[ 3]:\ne\n# In[x]\nf\n",
			"1/2 code \"a\"\n3/4 code \"b\"\n5/6 code \"c\"\n7/8 code \"d\"\n9/10 code \"e\\n# In[x]\\nf\"\n"},
		"magic, no marker": {"a.py", "# %%time\n", "1/1 code \"%%time\"\n"},
		"empty lines": {"a.py", "# %%\na\n\n# %%\nb\n\n\n# %%\nc\n\n\n\n# %%\n",
			"1/2 code \"a\"\n4/5 code \"b\"\n8/9 code \"c\\n\\n\"\n13/14 code \"\"\n"},
		"CRLF":            {"a.py", "# %%\r\na\r\nb\r\n\r\n# %%\r\nc", "1/2 code \"a\\nb\"\n5/6 code \"c\"\n"},
		"byte order mark": {"a.py", "\ufeff# %%\na\n", "1/2 code \"a\"\n"},
		"prose": {"a.py", "# %% [markdown]\n# # T\n#\n#text\nbare\n# %% [md] Title\n# %% [raw]\n# r\n",
			"1/2 markdown \"# T\\n\\ntext\\nbare\"\n6/7 markdown depth 0 true \"Title\" \"\"\n7/8 raw \"r\"\n"},
		"quoted prose": {"a.py", "# %% [markdown]\n\"\"\"\n# T\n\n# %% no\n\"\"\"\n\n# %% [markdown]\nr'''one'''\n" +
			"# %% [markdown]\n\"\"\"\"\"\"\n", "1/3 markdown \"# T\\n\\n# %% no\"\n" +
			"8/9 markdown \"one\"\n10/11 markdown \"\"\n"},
		"fence in prose": {"a.py", "# %% [markdown]\n# ```mermaid\n# %% x\n# ```\n# %%\n1\n# %% [markdown]\n# ```\n" +
			"# %%\n2\n", "1/2 markdown \"```mermaid\\n%% x\\n```\"\n5/6 code \"1\"\n" +
			"7/8 markdown \"```\"\n9/10 code \"2\"\n"},
		"texts of Python": {"a.py", "# %%\ns = '''\n# %%\n''' + \"\"\"'''\n# %%\n\"\"\" # ''' don't\n# %%\n" +
			"t = 'it\\'s' + \"#\" # \"\"\"\n# %%\n",
			"1/2 code \"s = '''\\n# %%\\n''' + \\\"\\\"\\\"'''\\n# %%\\n\\\"\\\"\\\" # ''' don't\"\n" +
				"7/8 code \"t = 'it\\\\'s' + \\\"#\\\" # \\\"\\\"\\\"\"\n9/10 code \"\"\n"},
		"texts of R": {"a.R", "# %%\nx <- 'a\n# %%\n' # don't\n# %%\n",
			"1/2 code \"x <- 'a\\n# %%\\n' # don't\"\n5/6 code \"\"\n"},
		"title and options": {"a.py", "# %% A b tags=[\"parameters\", 'x'] name=\"n\" deep={\"a\": [1, {\"b\": \"} " +
			"]\"}]} t=True n=None .c1 .c-2\n1\n",
			"1/2 code \"A b\" tags=[\"parameters\", \"x\"] name=\"n\" deep={\"a\": [1, {\"b\": \"} ]\"}]} t=true " +
				"n=null .c1=null .c-2=null \"1\"\n"},
		"classes alone": {"a.py", "# %% The title .a .b\n", "1/2 code \"The title\" .a=null .b=null \"\"\n"},
		"JSON options": {"a.py", "# %% [markdown] T {\"a\": 1, \"b\": {\"c\": [true]}}\n",
			"1/2 markdown \"T\" a=1 b={\"c\": [true]} \"\"\n"},
		"no options": {"a.py", "# %% x = some thing\n1\n", "1/2 code \"x = some thing\" \"1\"\n" +
			"warning a.py:1:5: what follows the title of the cell cannot be read as options, so it is part of the " +
			"title; write name=value with values of JSON, as tags=[\"a\"]\n"},
		"depth": {"a.py", "# %%% Sub\n# %%%%\n# %%%%x\n",
			"1/2 code depth 1 false \"Sub\" \"\"\n2/3 code depth 2 false \"# %%%%x\"\n"},
		"other language": {"a.py", "# %% language=\"bash\" magic_args=\"-e\"\n# ls\n# # %% no\n\"\"\"\n# %%\n1\n",
			"1/2 code bash language=\"bash\" magic_args=\"-e\" \"ls\\n# %% no\\n\\\"\\\"\\\"\"\n5/6 code \"1\"\n"},
		"only elsewhere": {"a.py", "# %% active=\"ipynb\"\n# 1 + 1\n# %% active=\"py\"\nimport x\n" +
			"# %% tags=[\"active-ipynb-md\"]\n# 2\n# %% active=\"\"\n# 3\n# %% run_control={\"frozen\": true}\n# 4\n",
			"1/2 code active=\"ipynb\" \"1 + 1\"\n3/4 raw active=\"py\" \"import x\"\n" +
				"5/6 code tags=[\"active-ipynb-md\"] \"2\"\n7/8 raw active=\"\" \"3\"\n" +
				"9/10 code run_control={\"frozen\": true} \"4\"\n"},
		"other comments": {"a.js", "// %% [markdown]\n// text\n// %%\n1 // %%\n",
			"1/2 markdown \"text\"\n3/4 code \"1 // %%\"\n"},
		"lua": {"a.lua", "-- %% T\nprint(1)\n", "1/2 code \"T\" \"print(1)\"\n"},
		"by hand": {"a.py", "# %%\n# %matplotlib inline\n  # !ls\n# x = !ls\n# copy the table\n# why?\n" +
			"# ! important\ns = '''\n# %no\n'''\n",
			"1/2 code \"%matplotlib inline\\n  !ls\\nx = !ls\\n# copy the table\\n# why?\\n# ! " +
				"important\\ns = '''\\n# %no\\n'''\"\n"},
		"by Jupytext": {"a.py", header + "# %%\n# %matplotlib inline\n# ls -l\n# # ls\n# x?\n# %a b \\\n#   c\n" +
			"# %b # noescape\n# text\n# # +\n",
			"8/9 code \"%matplotlib inline\\nls -l\\n# ls\\nx?\\n%a b \\\\\\n  c\\n# %b # noescape\\n# text\\n# +\"\n"},
		"hydrogen": {"a.py", fmt.Sprintf(jupytextHeader, "hydrogen") + "# %%\n%matplotlib inline\n# %no\n",
			"8/9 code \"%matplotlib inline\\n# %no\"\n"},
		"light": {"a.py", fmt.Sprintf(jupytextHeader, "light") + "# +\n1\n", "8/9 code \"1\"\n"},
		"light by hand": {"a.py", "# # T\n#\n# words\n\nx = 1\nif x:\n    y = 2\n\n    z = 3\n\n\n\n# not code\n\n" +
			"# + tags=[\"a\"]\nu = \"\"\"\n# +\n\"\"\"\n\nv = 2\n# -\n\n# + [markdown] k=1\n# a\n\n# b\n\n# +\n" +
			"# %time\n", "1/1 markdown \"# T\\n\\nwords\"\n5/5 code \"x = 1\\nif x:\\n    y = 2\\n\\n" +
			"    z = 3\"\n13/13 markdown \"not code\"\n15/16 code tags=[\"a\"] \"u = \\\"\\\"\\\"\\n" +
			"# +\\n\\\"\\\"\\\"\\n\\nv = 2\"\n23/24 markdown k=1 \"a\\n\\nb\"\n28/29 code \"%time\"\n"},
		"light, other end": {"a.js", "// + endofcell=\"--\"\n1\n\n// -\n2\n// --\n3\n",
			"1/2 code endofcell=\"--\" \"1\\n\\n// -\\n2\"\n7/7 code \"3\"\n"},
		"no mark of a light script": {"a.py", "# + more of this\nx = 1\n\ny = 2\n",
			"1/1 code \"# + more of this\\nx = 1\\n\\ny = 2\"\n"},
		"comments that end": {"a.ml", "(* --- *)\n(* title: T *)\n(* --- *)\n\n(* %% [markdown] k=1 *)\n(* # T *)\n\n" +
			"(* %% *)\nlet x = 1 (* y *)\n", "5/6 markdown k=1 \"# T\"\n8/9 code \"let x = 1 (* y *)\"\n"},
		"light with comments that end": {"a.mac", "/* # T */\n/* */\n/* b */\n\n/* + */\nx: 1$\n\ny: 2$\n/* - */\n",
			"1/1 markdown \"# T\\n\\nb\"\n5/6 code \"x: 1$\\n\\ny: 2$\"\n"},
		"sphinx": {"a.py", fmt.Sprintf(jupytextHeader, "sphinx") + "# +\n1\n",
			`error a.py:1:1: the script is in Jupytext's form "sphinx", and only light and percent scripts are ` +
				`read; jupytext --to py:percent`},
		"shebang, coding": {"a.py", "#!/usr/bin/python\n# -*- coding: utf-8 -*-\n# ---\n# title: T\n# ---\n# %%\n1\n",
			"6/7 code \"1\"\n"},
		"header not closed": {"a.py", "# ---\n# title: T\n\n# %%\n1\n",
			"1/1 code \"# ---\\n# title: T\"\n4/5 code \"1\"\n"},
		"no text": {"a.py", "a\x00b",
			"error a.py:1:2: the file holds a NUL byte, so it is not a text; take the byte out"},
	} {
		if got := told(t, c.file, c.src); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestRunnable(t *testing.T) {
	src := `# ---
# title: A script
# timeout: 1m
# params:
#   n: {type: int, default: 1,
#       min: 5}
# alow: [x]
# ---

# %% tags=["parameters"]
k = 2  # how many

# %% [markdown]
# text

# %% First name="first" timeout="3s" tags=["test"] needs=["nobody"]
print(k)

# %% language="html" magic_args="--x"
# <b>

# %% timout="3s" .slow
1
`
	s, err := Parse("a.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	nb, err := s.Runnable()
	want := `a.py:5:29: parameter "n": the default 1 is less than the least value, 5
a.py:7:3: unknown key "alow" in the front matter; did you mean allow?
a.py:16:52: step "first": needs: there is no step "nobody"; name the id of a step before this one`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v", err)
	}
	var got strings.Builder
	for _, p := range nb.Params {
		fmt.Fprintf(&got, "%s %d %s\n", p.Name, p.Line, p.Help)
	}
	for _, s := range nb.Steps {
		fmt.Fprintf(&got, "%s %s %d/%d %v %v %q\n", s.ID, s.Lang, s.Line, s.CodeLine, s.Tags, s.Timeout, s.Code)
	}
	for _, w := range nb.Warnings {
		got.WriteString(w.Error() + "\n")
	}
	if want := `k 11 how many
step-1 python 10/11 [parameters] 0s "k = 2  # how many\n"
first python 16/17 [test] 3s "print(k)\n"
step-3 python 19/19 [] 0s "%%html --x\n<b>\n"
step-4 python 22/23 [slow] 0s "1\n"
a.py:22:6: "timout" has no effect; did you mean timeout?
`; got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

func TestLooks(t *testing.T) {
	for src, want := range map[string]bool{
		"# %%\n1\n": true, "\n#!/bin/x\n# -*- coding: utf-8 -*-\n\n# %% T\n": true,
		"# ---\n# a: b\n# ---\n# %%\n": true,
		"# ---\n# a: b\n# ---\n":       false,
		"":                             false, "# Title\n\n```python\n# %%\n```\n": false,
		"import os\n# %%\n": false, "---\na: b\n---\n": false,
	} {
		if Looks([]byte(src)) != want {
			t.Errorf("%q: %v", src, !want)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	for name, want := range map[string]string{"a.py": "python", `C:\x\A.R`: "r", "a/b.jl": "julia", "x.SH": "bash",
		"a.md": "", "py": "", "a.ipynb": ""} {
		if got, ok := LanguageOf(name); got.Name != want || ok != (want != "") {
			t.Errorf("%s: %q", name, got.Name)
		}
	}
}

// FuzzParse: any script is read; only the header and empty lines are outside of cells, and every line of a cell is
// where the cell says.
func FuzzParse(f *testing.F) {
	for _, src := range []string{"# %%\n1\n", fmt.Sprintf(jupytextHeader, "percent") +
		"# %% [markdown]\n# a\n\n# %% T tags=['a'] {\n# %ls\n", "# %% [markdown]\n\"\"\"\nx\n\"\"\"\n# %% a={\"b\": '",
		"#!x\n# ---\n# allow: [\n# ---\n\n\n# %% language=\"bash\"\n# x\n# %%% .a"} {
		f.Add([]byte(src), false)
	}
	f.Fuzz(func(t *testing.T, src []byte, r bool) {
		name := "a.py"
		if r {
			name = "a.R"
		}
		s, err := Parse(name, src)
		if err != nil {
			return
		}
		at := s.Header.At.End
		for i, c := range s.Cells {
			if c.At.Start < at || c.At.End < c.At.Start || c.At.End > len(src) {
				t.Fatalf("cell %d at %v, after %d", i, c.At, at)
			}
			between := src[at:c.At.Start]
			if i == 0 && !s.Header.Given { // encoding, interpreter
				between = nil
			}
			if between = bytes.Trim(between, "# \t\r\n\v\f\u0085\u00a0"); s.Header.Given && i == 0 &&
				len(bytes.TrimSpace(between)) > 0 || i > 0 && len(between) > 0 {
				t.Fatalf("%q stands before cell %d", between, i)
			}
			at = c.At.End
			if c.Kind == Code {
				for k, text := range strings.Split(c.Source, "\n") {
					if n := c.CodeLine - 1 + k; c.Source != "" && (n >= len(s.lines) ||
						!strings.HasSuffix(strings.Trim(s.lines[n].Text, " \t"), strings.Trim(text, " \t")) &&
							!strings.Contains(s.lines[n].Text, "gonb")) {
						t.Fatalf("line %d of cell %d is %q", k, i, text)
					}
				}
			}
		}
		nb, err := s.Runnable()
		var list notebooks.ErrorList
		if err != nil {
			list = err.(notebooks.ErrorList)
		}
		for _, e := range list {
			if e.Line < 1 || e.Line > len(s.lines)+1 {
				t.Fatalf("%v in a script of %d lines", e, len(s.lines))
			}
		}
		code := 0
		for _, c := range s.Cells {
			if c.Kind == Code {
				code++
			}
		}
		if len(nb.Steps) != code {
			t.Fatalf("%d steps of %d cells", len(nb.Steps), code)
		}
	})
}

// TestLostHeader: an unreadable header is an error, because the script would run without its restrictions.
func TestLostHeader(t *testing.T) {
	const cell = "\n# %%\n1\n"
	for src, want := range map[string]string{
		"# ---\n# allow: [x]\n" + cell: "a.py:1:3: the front matter is not read: it is never " +
			"closed; end it with a line of ---",
		"# ---\n# allow: [x]\n# ----\n" + cell: "a.py:3:3: the front matter is not read: \"----\" does not " +
			"end it; end it with a line of ---",
		"#!/usr/bin/env python\n# ---\n# allow: [x]\n" +
			cell: "a.py:2:3: the front matter is not read: it is never closed; end it with a line of ---",
		"\n# ---\n# allow: [x]\n# ---\n" + cell: "a.py:2:3: the front matter is not read: it does not begin in " +
			"the first line; take out what stands before it",
		"# ---\n# allow: [x]\n# ---\n" + cell:       "<nil>",
		"#\n# ---\n# allow: [x]\n# ---\n" + cell:    "<nil>",
		"# ---\n# Words about the script.\n" + cell: "<nil>",
		"# Words about the script.\n" + cell:        "<nil>",
		"#!/bin/sh\n":                               "<nil>",
		"":                                          "<nil>",
	} {
		s, err := Parse("a.py", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runnable(); fmt.Sprint(err) != want {
			t.Errorf("%q: %v, expected %s", src, err, want)
		}
	}
}

// TestCodeInProse: a line that the script runs and that stands in a cell of text is a mistake with its place; text in
// quotes is none.
func TestCodeInProse(t *testing.T) {
	for src, line := range map[string]int{
		"# %% [markdown]\n# text\n\nprint(1)\n\n# %%\n2\n": 4, "# %% [raw]\nimport os\n\n# %%\n2\n": 2,
		"# %%\n1\n\n# %% [md]\n\"\"\"\ntext\n\"\"\"\nprint(2)\n": 5,
		"# %% [markdown]\n# a\n\"\"\"\nb\n\"\"\"\n\n# %%\n2\n":   0, "# %% [markdown]\n\"\"\"b\"\"\"\n\n# %%\n2\n": 0,
		"# %% [raw] active=\"py\"\nimport os\n\n# %%\n2\n": 0, "# %% [markdown]\n#a\n#\n\n# %%\n2\n": 0,
	} {
		s, err := Parse("n.py", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		var list notebooks.ErrorList
		_, err = s.Runnable()
		if errors.As(err, &list) != (line > 0) || line > 0 && list[0].Line != line {
			t.Errorf("%q: %v", src, err)
		}
	}
}

// TestFormByMarks: a header of Jupytext's that does not name the form leaves it to the marks of the cells.
func TestFormByMarks(t *testing.T) {
	const header = "# ---\n# jupyter:\n#   kernelspec:\n#     language: python\n# ---\n\n"
	for name, c := range map[string]struct{ file, src, want string }{
		"light":    {"a.py", header + "# # T\n\nx = 1\n", "7/7 markdown \"# T\"\n9/9 code \"x = 1\"\n"},
		"percent":  {"a.py", header + "# %%\n# %time x\n", "7/8 code \"%time x\"\n"},
		"hydrogen": {"a.py", header + "# %%\n# %time x\n%time y\n", "7/8 code \"# %time x\\n%time y\"\n"},
		"vim":      {"a.py", header + "# {{{ T\nx\n# }}}\n", "light with {{{,}}}"},
		"vscode":   {"a.py", header + "# region T\nx\n# endregion\n", "light with region,endregion"},
		"gallery": {"a.py", header + strings.Repeat("#", 40) + "\n# T\nx\n\n" + strings.Repeat("#", 40) + "\n",
			"sphinx"},
		"spin": {"a.R", strings.ReplaceAll(header, "# ", "#' ") + "#' T\n\nx\n", "spin"},
		"none": {"a.py", "# # T\n\nx = 1\n", "1/1 code \"# # T\\n\\nx = 1\"\n"},
		"gonb": {"a.go", strings.ReplaceAll(header, "#", "//") + "// %%\n//gonb:%%\nx\n", "%%\\nx"},
	} {
		if got := told(t, c.file, c.src); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	s, err := Parse("a.py", []byte("# ---\n# one: two: three\n# ---\n\n# %%\nx = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if nb, err := s.Runnable(); err != nil || len(nb.Warnings) != 1 {
		t.Errorf("a header that is no YAML: %v, warnings %v", err, nb.Warnings)
	}
	s, err = Parse("a.py", []byte("# ---\n# timeout: two: three\n# ---\n\n# %%\nx = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Runnable(); err == nil {
		t.Error("a mistake in a key of Markmill's is not reported")
	}
}
