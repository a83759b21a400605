package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/percent"
	"markmill/notebooks/region"
)

func runnableScript(t testing.TB, src string) (*notebooks.Notebook, error) {
	s, err := percent.Parse("a.py", []byte(src))
	if err != nil {
		return nil, err
	}
	return s.Runnable()
}

func TestScript(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"empty": {"", ""},
		"all": {"# ---\n# title: T\n# jupyter:\n#   kernelspec:\n#     name: python3\n# allow: [a]\n# ---\n# %% " +
			"[markdown] Part *one*\n# text\n# %% tags=[\"test\"] timeout=90 env={\"A\": \"b c\"}\n1\n# %% [raw]\n# r\n",
			"---\ntitle: T\nallow: [a]\n---\n\n**Part \\*one\\***\n\ntext\n\n```python {#step-1 .test timeout=1m30s " +
				"env.A=\"b c\"}\n1\n```\n\n```text\nr\n```\n"},
		"a rule on top": {"# %% [markdown]\n# ---\n# title: no\n# ---\n", "\n```markdown\n---\ntitle: no\n---\n```\n"},
		"a rule below": {"# %%\n1\n# %% [markdown]\n# ---\n# title: no\n# ---\n",
			"```python {#step-1}\n1\n```\n\n---\ntitle: no\n---\n"},
		"words on top": {"# %% [markdown]\n# ---\n# words\n# ---\n", "\n---\nwords\n---\n"},
		"a step in prose": {"# %% [markdown]\n# ```python {#x}\n# 1\n# ```\n# %%\n2\n",
			"\n````markdown\n```python {#x}\n1\n```\n````\n\n```python {#step-1}\n2\n```\n"},
		"prose that is open": {"# %% [markdown]\n# <!-- x\n# %%\n2\n",
			"\n```markdown\n<!-- x\n```\n\n```python {#step-1}\n2\n```\n"},
		"a step in a list of the cell before": {"# %% [markdown]\n# 1. a\n# %% [markdown]\n# \t```sh {.test}\n",
			"\n1. a\n\n````markdown\n\t```sh {.test}\n````\n"},
		"an empty cell on top": {"# %% [markdown]\n# %% [markdown]\n# ---\n# allow: [a]\n",
			"\n```markdown\n---\nallow: [a]\n```\n"},
		"a marker": {"# %% [markdown]\n# <!-- markmill:end 0123456789abcdef -->\n",
			"\n```markdown\n<!-- markmill:end 0123456789abcdef -->\n```\n"},
		"fences in code": {"# %%\n\"\"\"\n```\n````\n\"\"\"\n",
			"`````python {#step-1}\n\"\"\"\n```\n````\n\"\"\"\n`````\n"},
		"a header of others": {"# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n#       format_name: " +
			"percent\n# other: thing\n# ---\n# %%\n1\n", "```yaml\nother: thing\n```\n\n```python {#step-1}\n1\n```\n"},
	} {
		nb, err := runnableScript(t, c.src)
		if err != nil {
			t.Fatal(name, err)
		}
		md, err := Script(nb)
		if err != nil || string(md.Source) != c.want {
			t.Errorf("%s: %v, got\n%s", name, err, md.Source)
		}
	}
}

// TestScriptHasTheSameSteps: a script has the same steps as the Markdown made from it, and the run's outputs can be
// stripped again.
func TestScriptHasTheSameSteps(t *testing.T) {
	line := rapid.SampledFrom([]string{"# %%", "# %% [markdown]", "# %% [raw]", "# %% T tags=[\"test\", \"a b\"]",
		"# %% needs=[\"step-1\"] timeout=\"3s\" if=\"1 < 2\"", "# %% language=\"bash\"", "1", "# text", "# ```",
		"# ```python {#x}", "# ~~~", "```", "\"\"\"", "# <!--", "# -->", "", "  x", "# ---", "# allow: [a]", "# [a]: b",
		"# > - x", "# <div>", "# <!-- markmill:end 0 -->", "# 1. a", "# \t```sh {.test}", "\x85", "a\rb"})
	rapid.Check(t, func(t *rapid.T) {
		src := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"),
			rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		s, err := percent.Parse("a.py", []byte(src))
		if err != nil {
			return
		}
		nb, err := s.Runnable()
		if err != nil {
			return
		}
		md, err := Script(nb)
		if err != nil {
			t.Fatalf("%v\n%q", err, src)
		}
		var regions []region.Region
		for i, step := range md.Steps {
			if got, want := step.Info(), nb.Steps[i].Info(); got != want ||
				string(step.Code) != string(nb.Steps[i].Code) {
				t.Fatalf("step %s is %s\n%q\n%q", want, got, step.Code, nb.Steps[i].Code)
			}
			regions = append(regions, region.Region{ID: string(step.ID), At: step.Fence.End, Body: []byte("out\n")})
		}
		got := region.Strip("o.md", region.Splice(md.Source, regions, notebooks.Manifest{}))
		if len(got.Problems) > 0 || string(got.Source) != string(md.Source) || len(got.Regions) != len(regions) {
			t.Fatalf("%v: %d regions\n%s", got.Problems, len(got.Regions), md.Source)
		}
	})
}
