package render

import (
	"bytes"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/jupyter"
	"markmill/runs"
)

// jupyterName is the name of a Jupyter output notebook in a record.
const jupyterName = "output.ipynb"

// TestJupyterOutputOfMarkdown: whatever steps print, the Jupyter output of a Markdown notebook can be read, agrees with
// its manifest, strips to the converted source, and is stable.
func TestJupyterOutputOfMarkdown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nb := drawNotebook(t)
		d := drawRun(t, nb)
		for i := range d.run.Steps {
			for _, name := range []string{"p.png", "p.html", "x`y.bin"} {
				d.MapFS[d.run.Steps[i].Step.Dir+"/"+name] = &fstest.MapFile{Data: []byte(hostileText(t, "content"))}
			}
		}
		source, _, err := jupyter.FromText(nb)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Output(jupyterName, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Output(jupyterName, nb, d.run, d)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("the second output is another (%v)", err)
		}
		file, err := ipynb.Parse(jupyterName, out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if damage := file.Damage(); len(damage) > 0 || file.Manifest() == nil {
			t.Fatalf("%v\n%s", damage, out)
		}
		if got := ipynb.Source(file, false); !bytes.Equal(got, source.Source) {
			t.Fatalf("stripped: %s\nwant %s", got, source.Source)
		}
	})
}

// TestMarkdownOutputOfJupyter: the regions are the steps of the Jupyter notebook, and the output strips to the
// converted source.
func TestMarkdownOutputOfJupyter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file, _, err := jupyter.FromText(drawNotebook(t))
		if err != nil {
			return
		}
		nb, err := file.Runnable()
		if err != nil {
			t.Fatal(err)
		}
		d := drawRun(t, nb)
		want, err := AsMarkdown(nb)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		s := region.Strip("out.md", out)
		if !bytes.Equal(s.Source, want.Source) || len(s.Problems) > 0 || len(s.Regions) != len(nb.Steps) {
			t.Fatalf("stripped: %q (%v), want %q", s.Source, s.Problems, want.Source)
		}
	})
}
