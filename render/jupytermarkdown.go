package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/render/plain"
	"markmill/runs"
)

// What the output notebook of a Markdown notebook tells and Jupyter has no place for: how a step ended stands in the metadata of its cell, what it
// changed among its outputs, why the run did not pass in a cell on top.

// stepNote is how a step ended, in the metadata of its cell.
type stepNote struct {
	Result stepResult `json:"result"`
}

type stepResult struct {
	Status runs.StepStatus `json:"status"`
	Words  string          `json:"words"`
}

// besides adds what a region tells besides what the step said: that it failed, where the interpreter has no words for it, and
// what it changed.
func (o *cellOutputs) besides(rec runs.StepRecord) error {
	o.flush()
	if hasTag(rec.Planned, notebooks.TagVolatile) {
		return nil
	}
	f := rec.Finished
	if (f.Status == runs.StepFailed || f.Status == runs.StepTimeout) && f.Error == nil {
		_, words := Verdict(rec)
		o.fails(rec.Planned.ID, words)
	}
	if rec.Patch == nil || len(rec.Patch.Files) == 0 {
		return nil
	}
	e, _, err := patchText(o.files, rec.Patch)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	writeExcerpt(&b, "diff", e, rec.Patch.Patch, rec.Patch.Digest)
	o.change(b.String(), e, map[string]any{"file": rec.Patch.Patch, "digest": rec.Patch.Digest})
	return nil
}

// fails adds the error of a step whose interpreter has told none, so that every reader of Jupyter notebooks sees that it failed.
func (o *cellOutputs) fails(id notebooks.StepID, words string) {
	words = (&cleaner{names: o.names, rules: o.rules}).oneLine(words, 200)
	o.list = append(o.list, map[string]any{"output_type": "error", "ename": "StepFailed", "evalue": words,
		"traceback": []string{fmt.Sprintf("step %s: %s", id, words)}})
}

// change adds a patch as a display. The patch is cut as in a region; about says where it stands whole.
func (o *cellOutputs) change(page string, e excerpt, about map[string]any) {
	text := e.head
	if e.cut != "" {
		text += "… " + e.cut + " elided\n" + e.tail
	}
	about["kind"] = "diff"
	o.list = append(o.list, map[string]any{"output_type": "display_data", "metadata": map[string]any{"markmill": about},
		"data": map[string]any{"text/markdown": ipynb.Lines(page), "text/plain": ipynb.Lines(text)}})
}

// blockers tells why a run did not pass: in the metadata, and where no step says it, in a cell on top.
func (j *jupyter) blockers(list []runs.Blocker) error {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Words, list[i].Hint = j.names.replace(list[i].Words), ""
	}
	raw, err := codec.Marshal(map[string]any{"blockers": list})
	if err != nil {
		return err
	}
	j.noted = append(j.noted, ipynb.Setting{Name: "result", Value: raw})
	if !j.failed {
		j.verdict(list)
	}
	return nil
}

// verdict adds the cell on top.
func (j *jupyter) verdict(list []runs.Blocker) {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s %s**\n", Mark(runs.Status(j.manifest.Status)), inline(j.manifest.Status))
	for _, each := range list {
		b.WriteString("\n- " + inline(each.Code))
		if each.Step != "" {
			b.WriteString(" in " + codeSpan(plain.Escape(string(each.Step))))
		}
		b.WriteString(": " + inline(plain.Escape(each.Words)))
	}
	top := ipynb.AddedCell{ID: "markmill-verdict", Markdown: true, Tags: []string{"markmill"}, Source: b.String()}
	j.result.Added = append([]ipynb.AddedCell{top}, j.result.Added...)
}
