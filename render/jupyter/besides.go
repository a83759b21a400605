package jupyter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// What a Markdown output notebook has and Jupyter has no place for: how a step ended goes to the metadata of its
// cell, what it changed to its outputs, the verdict to a cell at the top.

// stepNote says in the metadata of a cell how its step ended.
type stepNote struct {
	Result stepResult `json:"result"`
}

type stepResult struct {
	Status runs.StepStatus `json:"status"`
	Words  string          `json:"words"`
}

// besides adds the failure of a step, if its interpreter did not report one, and its patch.
func (o *cellOutputs) besides(rec runs.StepRecord) error {
	if slices.Contains(rec.Planned.Tags, notebooks.TagVolatile) {
		return nil
	}
	f := rec.Finished
	if (f.Status == runs.StepFailed || f.Status == runs.StepTimeout) && f.Error == nil {
		_, words := result.StepLine(rec)
		o.fails(rec.Planned.ID, words)
	}
	if rec.Patch == nil || len(rec.Patch.Files) == 0 {
		return nil
	}
	e, _, err := safe.Patch(o.files, rec)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	safe.WriteExcerpt(&b, "diff", e, rec.Patch.Patch, rec.Patch.Digest)
	o.change(b.String(), e, map[string]any{"file": rec.Patch.Patch, "digest": rec.Patch.Digest})
	return nil
}

// fails adds an error output for a step whose interpreter reported none, so that every reader of Jupyter notebooks
// sees the failure.
func (o *cellOutputs) fails(id notebooks.StepID, words string) {
	words = o.clean.OneLine(words, 200)
	o.raise("StepFailed", words, []string{fmt.Sprintf("step %s: %s", id, words)})
}

// change adds a patch as a display, cut as in a region. about says where the whole patch is.
func (o *cellOutputs) change(page string, e safe.Excerpt, about map[string]any) {
	text := e.Head
	if e.Cut != "" {
		text += "… " + e.Cut + " elided\n" + e.Tail
	}
	about["kind"] = "diff"
	o.note(about, page, text)
}

// note adds something that Markmill says of the step, in Markdown and as text.
func (o *cellOutputs) note(about map[string]any, page, text string) {
	o.display(map[string]any{"text/markdown": ipynb.Lines(page), "text/plain": ipynb.Lines(text)},
		map[string]any{"markmill": about})
}

// verdict adds the verdict at the top: in its own cell, or in the cell that marks an error as papermill does.
func (j *notebook) verdict() {
	words := result.VerdictMarkdown(&j.manifest, j.nb.Front.Headline)
	if len(j.result.Added) > 0 && j.result.Added[0].ID == errorTop {
		j.result.Added[0].Source += "\n\n" + strings.TrimSuffix(words, "\n")
		return
	}
	top := ipynb.AddedCell{ID: "markmill-verdict", Markdown: true, Tags: []string{"markmill"},
		Source: strings.TrimSuffix(words, "\n")}
	j.result.Added = append([]ipynb.AddedCell{top}, j.result.Added...)
}

// breaks adds the rules of the run that a step broke, which its own outputs do not show.
func (o *cellOutputs) breaks(m *notebooks.Manifest, step notebooks.StepID) {
	for i := range m.Blockers {
		b := &m.Blockers[i]
		if b.Step != step || b.Rule == "" || b.Rule == notebooks.TagNoChange {
			continue
		}
		words := o.clean.OneLine(result.BrokeWords(b), 200)
		o.note(map[string]any{"kind": "broke"}, "**✗ "+safe.Inline(words)+"**", "✗ "+words)
	}
}
