package convert

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/forms"
)

// TestTextStaysText: a run never takes the text of a converted cell for a step.
func TestTextStaysText(t *testing.T) {
	for _, fence := range []string{"```bash {#x}\nrm -r data\n```", "```node {.test}\n1\n```",
		"```sh {\"name\":\"x\"}\nls\n```"} {
		for _, f := range textForms {
			d := &Document{Name: "a.ipynb", Form: notebooks.FormJupyter, Cells: []Cell{
				{Type: "markdown", Source: "# Example\n\n" + fence}, {Type: "code", Source: "1 + 2"}}}
			out, _, err := d.To(f.form, f.name)
			if err != nil {
				if !strings.Contains(err.Error(), "cell 1") {
					t.Errorf("%s: the error does not name the cell: %v", f.form, err)
				}
				continue
			}
			nb, err := forms.Parse(f.name, out)
			if err != nil || len(nb.Steps) != 1 {
				t.Errorf("%s: %d steps, %v\n%s", f.form, len(nb.Steps), err, out)
			}
		}
	}
}

// A cell's text may end with a fence that nothing closes.
func TestTextEndsWithAFence(t *testing.T) {
	for _, f := range textForms {
		d := &Document{Name: "a.ipynb", Form: notebooks.FormJupyter,
			Cells: []Cell{{Type: "markdown", Source: "```{python}"}}}
		out, _, err := d.To(f.form, f.name)
		if err != nil {
			continue // the form cannot hold it, and says so
		}
		back, err := Read(f.form, f.name, out)
		if err != nil || len(back.Cells) != 1 || back.Cells[0].Source != "```{python}" {
			t.Errorf("%s: %+v, %v\n%s", f.form, back, err, out)
		}
	}
}
