package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
)

// renderBoth stands in for the views of a Markdown notebook whose OUTPUT is a Jupyter notebook.
func renderBoth(record *Record, run *Run, source []byte, name string) ([]byte, error) {
	if name != jupyterOutput {
		return renderForTest(record, run, source, name)
	}
	nb, err := ipynb.Parse(name, []byte(`{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`))
	if err != nil {
		return nil, err
	}
	manifest, err := ipynb.ManifestSetting(notebooks.Manifest{Source: region.DigestOf(nb.Source),
		Status: string(run.Status()), Regions: []notebooks.ManifestRegion{}})
	if err != nil {
		return nil, err
	}
	return nb.With(ipynb.Result{Metadata: []ipynb.Setting{manifest}})
}

// TestVerifyLeft: the output notebooks that a run directory does not keep are made again and held against the journal,
// and only a run that left one at OUTPUT may do without them.
func TestVerifyLeft(t *testing.T) {
	started := RunStartedData{Output: "/somewhere/out.ipynb", OutputForm: "ipynb"}
	passed, source, err := At(aPass(t, newStore(t), aTime, 1).dir).Load()
	if err != nil {
		t.Fatal(err)
	}
	var both []LeftOutput
	for _, name := range []string{OutputFile, jupyterOutput} {
		text, err := renderBoth(nil, passed, source, name)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, LeftOutput{Name: name, Digest: DigestOf(text), Bytes: int64(len(text))})
	}
	other := func(change func(o *LeftOutput)) []LeftOutput {
		out := append([]LeftOutput{}, both...)
		change(&out[1])
		return out
	}
	const keeps = "events.jsonl: run.completed says that output notebooks are not kept, and such a run keeps them"
	for _, c := range []struct {
		name    string
		started RunStartedData
		end     CompletedData
		also    string // a file that is there
		want    string // the first finding, or none
	}{
		{"both", started, CompletedData{Status: Pass, Outputs: both}, "", ""},
		{"another digest", started, CompletedData{Status: Pass,
			Outputs: other(func(o *LeftOutput) { o.Digest = both[0].Digest })}, "", "output.ipynb: is not what the " +
			"journal gives: the run left sha256:"},
		{"another size", started, CompletedData{Status: Pass, Outputs: other(func(o *LeftOutput) { o.Bytes++ })}, "",
			"output.ipynb: is not what the journal gives: the run left sha256:"},
		{"another name", started, CompletedData{Status: Pass, Outputs: other(func(o *LeftOutput) { o.Name = "x" })}, "",
			"output.ipynb: is missing"},
		{"one of the two", started, CompletedData{Status: Pass, Outputs: both[:1]}, jupyterOutput, keeps},
		{"without OUTPUT", RunStartedData{OutputForm: "ipynb"}, CompletedData{Status: Pass, Outputs: both}, "", keeps},
		{"at an address", RunStartedData{Output: "s3://b/out.ipynb", OutputForm: "ipynb"},
			CompletedData{Status: Pass, Outputs: both}, "", keeps},
		{"no Jupyter notebook", RunStartedData{Output: "/somewhere/out.md"}, CompletedData{Status: Pass,
			Outputs: both[:1]}, "", keeps},
		{"interrupted", started, CompletedData{Status: Interrupted, Outputs: both}, "", keeps},
		{"a secret", started, CompletedData{Status: Fail, Blockers: []Blocker{{Code: CodeSecretLeaked}}, Outputs: both},
			"", keeps},
		{"kept all the same", started, CompletedData{Status: Pass, Outputs: both}, jupyterOutput,
			"output.ipynb: is there, and the journal says that it is not kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newStore(t)
			r := newRecordOf(t, store, aTime, 1, c.started)
			r.steps()
			if c.also != "" {
				r.write(c.also, "{}")
			}
			c.end.ResultCommit = "c1"
			r.finishWith(c.end)
			v, err := At(r.dir).Verify(rendering(renderBoth), Signers{})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && !v.OK() || c.want != "" &&
				(v.OK() || !strings.HasPrefix(v.Findings[0].String(), c.want)) {
				t.Errorf("got %v, want %q", v.Findings, c.want)
			}
			if c.want != "" {
				return
			}
			text, err := renderBoth(nil, v.Run, r.source, jupyterOutput)
			if err != nil {
				t.Fatal(err)
			}
			output := filepath.Join(t.TempDir(), "out.ipynb")
			if err := os.WriteFile(output, text, 0o644); err != nil {
				t.Fatal(err)
			}
			if v, err = VerifyOutput(output, store, rendering(renderBoth), Signers{}); err != nil || !v.OK() ||
				v.RunID != r.id {
				t.Errorf("by its OUTPUT: %v, %v", v, err)
			}
		})
	}
}
