package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/markdown"
	"markmill/runs"
)

// withSpecs is a machine on which kernels are installed for Jupyter: name and language.
func withSpecs(t *testing.T, specs ...[2]string) func(string) (string, bool) {
	t.Helper()
	root := t.TempDir()
	for _, s := range specs {
		dir := filepath.Join(root, "kernels", s[0])
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"argv":["x","{connection_file}"],"language":"` + s[1] + `"}`
		if err := os.WriteFile(filepath.Join(dir, "kernel.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) (string, bool) { return map[string]string{"JUPYTER_PATH": root}[name], true }
}

func TestWhichKernelRunsAStep(t *testing.T) {
	e := &Engine{Getenv: withSpecs(t, [2]string{"python3", "python"}, [2]string{"ir", "R"},
		[2]string{"deno", "javascript"}),
		Config: Config{Kernels: map[string]KernelConfig{"lua": {Command: []string{"lua", "{file}"}},
			"special": {Command: []string{"x"}, Languages: []string{"sql"}}}}}
	for _, c := range []struct{ name, source, asked, want string }{
		{"a built-in one", "```python {#a}\nx = 1\n```\n", "", "python"},
		{"papermill's name for it", "```python {#a}\nx = 1\n```\n", "python3", "python"},
		{"Jupyter's, by name", "```python {#a}\nx = 1\n```\n", "jupyter:python3", "jupyter:python3"},
		{"of the front matter", "---\nkernel: jupyter:python3\n---\n```python {#a}\nx = 1\n```\n", "",
			"jupyter:python3"},
		{"a language that only Jupyter runs", "```r {#a}\nx <- 1\n```\n", "", "jupyter:ir"},
		{"a name that only Jupyter has", "```r {#a}\nx <- 1\n```\n", "ir", "jupyter:ir"},
		{"one for another language", "```python {#a}\nx = 1\n```\n", "ir", "python"},
		{"a language under another word", "```js {#a}\n1\n```\n", "deno", "jupyter:deno"},
		{"magics of a notebook", "```python {#a}\nx = 1\n```\n\n```python {#b}\n%time x\n```\n", "", "jupyter:python3"},
		{"magics, and a kernel that was asked for", "```python {#b}\n%time x\n```\n", "python", "python"},
		{"magics of a notebook that asks for python3", "---\nkernel: python3\n---\n```python {#b}\n%time x\n```\n", "",
			"jupyter:python3"},
		{"a command", "```lua {#a}\n1\n```\n", "", "command:lua"},
		{"a command by its languages", "```sql {#a}\n1\n```\n", "", "command:special"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nb, err := markdown.Parse("a.md", []byte(c.source))
			if err != nil {
				t.Fatal(err)
			}
			p := &Plan{request: Request{Path: "a.md", Options: runs.Options{Kernel: c.asked}}, notebook: nb}
			if err := p.chooseKernels(e); err != nil {
				t.Fatal(err)
			}
			for _, s := range p.steps {
				if s.Kernel.Name() != c.want {
					t.Errorf("step %s runs on %s, want %s", s.ID, s.Kernel.Name(), c.want)
				}
			}
			if told := len(nb.Warnings) > 0; told != strings.HasPrefix(c.name, "magics of") {
				t.Errorf("warnings: %v", nb.Warnings)
			}
		})
	}
}

func TestAKernelThatIsNotThere(t *testing.T) {
	e := &Engine{Getenv: withSpecs(t, [2]string{"ir", "R"})}
	nb, err := markdown.Parse("a.md", []byte("```julia {#a}\n1\n```\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{request: Request{Path: "a.md"}, notebook: nb}
	if err := p.chooseKernels(e); err == nil || !strings.Contains(err.Error(),
		`a.md:1:1: step "a": no kernel runs "julia"`) || !strings.Contains(err.Error(), kernel.JupyterPrefix+"ir") {
		t.Error(err)
	}
}

// jupyterFile is a notebook of Jupyter with one code cell.
func jupyterFile(t *testing.T, kernelspec string) *notebooks.Notebook {
	t.Helper()
	nb, err := forms.Parse("a.ipynb", []byte(`{"cells":[{"cell_type":"code","execution_count":null,"id":"a","metadata":{},"outputs":[],"source":"1"}],
"metadata":{"kernelspec":`+kernelspec+`},"nbformat":4,"nbformat_minor":5}`))
	if err != nil {
		t.Fatal(err)
	}
	return nb
}

func TestAKernelspecThatIsNotInstalled(t *testing.T) {
	e := &Engine{Getenv: withSpecs(t, [2]string{"ir", "R"}, [2]string{"conda-base-py", "python"},
		[2]string{"python3", "python"})}
	for _, c := range []struct{ kernelspec, want, not string }{
		{`{"name":"my-env","language":"python","display_name":"x"}`, "another kernel of python, -k python3", ""},
		{`{"name":"julia-1.10","language":"julia","display_name":"x"}`, "run the notebook with another: -k NAME",
			"of julia"},
		{`{"name":"irkernel-3","language":"R","display_name":"x"}`, "-k ir", ""},
	} {
		p := &Plan{request: Request{Path: "a.ipynb"}, notebook: jupyterFile(t, c.kernelspec)}
		err := p.chooseKernels(e)
		if err == nil {
			t.Errorf("%s runs on %s", c.kernelspec, p.steps[0].Kernel.Name())
			continue
		}
		for _, want := range []string{"is not installed; there are: ", "jupyter:ir", "jupyter:python3", c.want} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
		if c.not != "" && strings.Contains(err.Error(), c.not) {
			t.Errorf("%q is in %v", c.not, err)
		}
	}
}

func TestStepsThatAJupyterKernelCannotBeTold(t *testing.T) {
	e := &Engine{Getenv: withSpecs(t, [2]string{"ir", "R"}, [2]string{"python3", "python"})}
	for source, refused := range map[string]bool{
		"```r {#a cwd=src}\n1\n```\n": true, "```r {#a env=\"A=1\"}\n1\n```\n": true, "```r {#a}\n1\n```\n": false,
		"```r {#a cwd=src .skip}\n1\n```\n":                                   false,
		"---\nkernel: jupyter:python3\n---\n```python {#a cwd=src}\n1\n```\n": false,
	} {
		nb, err := markdown.Parse("a.md", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		p := &Plan{request: Request{Path: "a.md"}, notebook: nb}
		if err := p.chooseKernels(e); (err != nil) != refused || refused && !strings.Contains(err.Error(),
			"do not reach the kernel jupyter:ir") {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestACellThatCannotBeWrittenIsForetold(t *testing.T) {
	e := &Engine{Getenv: withSpecs(t, [2]string{"bash", "bash"})}
	nested := notebooks.Value{Type: notebooks.TypeList, List: []notebooks.Value{{Type: notebooks.TypeList}}}
	for _, c := range []struct {
		kernelspec, given string
		value             notebooks.Value
		warned            string
	}{
		{`{"name":"python3","language":"python","display_name":"x"}`, "python", nested, ""},
		{`{"name":"bash","language":"bash","display_name":"x"}`, "bash", notebooks.Value{Type: notebooks.TypeString,
			Text: "x"}, ""},
		{`{"name":"javascript","language":"javascript","display_name":"x"}`, "node", nested,
			`the language "javascript"`},
	} {
		nb := jupyterFile(t, c.kernelspec)
		p := &Plan{request: Request{Path: "a.ipynb", Options: runs.Options{Kernel: c.given}}, notebook: nb,
			bound: []notebooks.Bound{{Param: notebooks.Param{Name: "x"}, Value: c.value, Given: true}}}
		if err := p.chooseKernels(e); err != nil {
			t.Fatal(err)
		}
		told := ""
		for _, w := range nb.Warnings {
			told += w.Error()
		}
		if (told != "") != (c.warned != "") || !strings.Contains(told, c.warned) {
			t.Errorf("%s: told %q, want %q", c.kernelspec, told, c.warned)
		}
	}
}

// Check warns of the program of a kernel that is not on PATH: a run would be blocked.
func TestAProgramThatIsNotThere(t *testing.T) {
	for path, want := range map[string]string{
		t.TempDir(): `a.md:1:1: step "a": the kernel sh needs the program sh: not found on PATH; install it, or name ` +
			"another in markmill.yaml",
		"/bin": "",
	} {
		e := &Engine{Getenv: func(name string) (string, bool) { return map[string]string{"PATH": path}[name], true }}
		nb, err := e.Check(Request{Path: "a.md", Source: []byte("```sh {#a}\ntrue\n```\n\n```sh {#b}\ntrue\n```\n")})
		got := ""
		for _, w := range nb.Warnings {
			got += w.Error()
		}
		if err != nil || got != want {
			t.Errorf("%q, %v; expected %q", got, err, want)
		}
	}
}
