package documents

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/result"
	"markmill/runs"
	"markmill/runs/scrapbook"
)

// Recorded holds the parameters and scraps of a run.
type Recorded struct {
	Name   string // of the notebook, as the caller called it
	Run    string // its id; "" of a notebook, which does not say
	Status string // pass, fail, blocked, pending, …; "" of a notebook that no run has left
	Params []diff.Param
	Scraps []StepScrap // the last of each name, in the order in which the names first came
	// Gone counts the scraps that the notebook does not even name, for lack of room.
	Gone int
}

// Elided is the type of a scrap whose value was too large for the notebook.
const Elided = "elided"

// StepScrap is a scrap and the step that recorded it.
type StepScrap struct {
	Step string
	runs.ScrapData
	Opaque string // why there is no value, in words: "encoder pickle, 120 bytes"
}

// ScrapsOf reads the parameters and scraps of a notebook of any form, whether Markmill, papermill or Jupyter ran it.
// The error is an *Error of package notebooks.
func ScrapsOf(name string, src []byte) (*Recorded, error) {
	if formOf(name, src) == notebooks.FormJupyter {
		nb, err := ipynb.Parse(name, src)
		if err != nil {
			return nil, err
		}
		return jupyterScraps(nb), nil
	}
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, err
	}
	got := region.Strip(name, src)
	r := &Recorded{Name: name}
	if len(got.Problems) > 0 {
		return nil, got.Problems[0]
	}
	if got.Manifest != nil {
		r.manifest(got.Manifest)
	}
	for _, region := range got.Regions {
		if r.Status == "" { // a page whose end was cut off
			r.Status = "unknown"
		}
		if region.ID == render.ParametersRegion || !bytes.Contains(region.Body, []byte("{.scraps}")) &&
			!bytes.Contains(region.Body, []byte(render.ScrapComment)) {
			continue
		}
		for _, p := range parts(string(region.Body)) {
			if p.kind != partScrap && p.class != "scraps" {
				continue
			}
			for _, s := range readScraps(p.text) {
				r.add(region.ID, ofBlock(s), false)
			}
			words := strings.Fields(p.elided) // … 1,234 scraps elided: `events.jsonl`
			if len(words) > 2 && strings.HasPrefix(words[2], "scrap") {
				gone, _ := strconv.Atoi(strings.ReplaceAll(words[1], ",", ""))
				r.Gone += gone
			}
		}
	}
	return r, nil
}

// RunScraps reads them from the record of a run.
func RunScraps(name string, run *runs.Run) *Recorded {
	r := &Recorded{Name: name, Run: string(run.ID), Status: string(run.Status())}
	for _, p := range run.Contract.Parameters {
		r.Params = append(r.Params, diff.Param{Name: p.Name, Value: result.ShownValue(p, nil)})
	}
	for i := range run.Steps {
		for _, s := range run.Steps[i].Scraps {
			r.add(string(run.Steps[i].Planned.ID), s, false)
		}
	}
	return r
}

// Whole reports whether every value is there.
func (r *Recorded) Whole() bool {
	return r.Gone == 0 && !slices.ContainsFunc(r.Scraps, func(s StepScrap) bool { return s.Type == Elided })
}

// Complete fills in elided values from the records of the runs that left the notebook. Where the records disagree,
// nobody knows which one applies, and the value stays out.
func (r *Recorded) Complete(records []*Recorded) {
	if len(records) == 0 {
		return
	}
	known := map[string]int{}
	for i := range r.Scraps {
		known[r.Scraps[i].Name] = i
	}
	for _, whole := range records[0].Scraps {
		at, there := known[whole.Name]
		if there && r.Scraps[at].Type != Elided || slices.ContainsFunc(records[1:],
			func(other *Recorded) bool { return !other.has(whole) }) {
			continue
		}
		if there {
			r.Scraps[at] = whole
		} else {
			r.Scraps = append(r.Scraps, whole)
			r.Gone--
		}
	}
	r.Gone = max(r.Gone, 0)
}

func (r *Recorded) has(s StepScrap) bool {
	return slices.ContainsFunc(r.Scraps, func(own StepScrap) bool {
		return own.Name == s.Name && own.Type == s.Type && bytes.Equal(own.Value, s.Value) && own.Digest == s.Digest
	})
}

func (r *Recorded) manifest(m *notebooks.Manifest) {
	r.Status = m.Status
	for _, p := range m.Parameters {
		r.Params = append(r.Params, diff.Param{Name: p.Name, Value: p.Value})
	}
}

// add adds a scrap. The last of a name wins, but a displayed form never replaces a value.
func (r *Recorded) add(step string, s runs.ScrapData, shown bool) {
	one := StepScrap{Step: step, ScrapData: s}
	switch size := len(s.Value); {
	case s.Encoder == "ref":
		one.Opaque = "a reference to what the notebook does not hold: " + scrapbook.PlainText(s.Value)
	case s.Encoder != "":
		one.Opaque = fmt.Sprintf("encoder %s, %d bytes", s.Encoder, size)
	case s.Type == Elided:
		one.Opaque = "elided: " + scrapbook.PlainText(s.Value) + "; the record of the run has it"
	}
	for i := range r.Scraps {
		if r.Scraps[i].Name != s.Name {
			continue
		}
		if shown {
			r.Scraps[i].Display = true
		} else {
			r.Scraps[i] = one
		}
		return
	}
	r.Scraps = append(r.Scraps, one)
}

// ofBlock infers the type of a scrap from its value in a block.
func ofBlock(s diff.Scrap) runs.ScrapData {
	out := runs.ScrapData{Name: s.Name, Type: runs.ScrapJSON, Value: s.Value}
	if s.Digest != "" {
		out = runs.ScrapData{Name: s.Name, Type: runs.ScrapFile, File: s.File,
			MIME: s.MIME, Digest: runs.Digest(s.Digest)}
		if strings.HasPrefix(s.MIME, "image/") {
			out.Type = runs.ScrapImage
		}
		return out
	}
	switch s.Value.Kind() {
	case '"':
		out.Type = runs.ScrapText
	case '{':
		var all map[string]codec.Raw
		if codec.Unmarshal(s.Value, &all) != nil {
			break
		}
		if _, tabular := all["columns"]; tabular && len(all) == 2 && all["data"] != nil {
			out.Type = runs.ScrapTable
		}
		if elided, ok := all["elided"]; ok && len(all) == 1 {
			out.Type, out.Value = Elided, elided
		}
	}
	return out
}

// jupyterScraps reads the scraps that Python's scrapbook, papermill or a run of ours left in the outputs.
func jupyterScraps(nb *ipynb.Notebook) *Recorded {
	r := &Recorded{Name: nb.Name}
	failed, ran := false, false
	for i := range nb.Cells {
		c := &nb.Cells[i]
		ran = ran || c.Count.Given() && string(c.Count.Raw) != "null" || len(c.Outputs) > 0
		for k := range c.Outputs {
			o := &c.Outputs[k]
			failed = failed || o.Type == "error"
			for _, s := range outputScraps(o) {
				if s.Content != nil {
					s.Digest = runs.DigestOf(s.Content)
				}
				r.add(cellName(c, i), s.ScrapData, s.Shown)
			}
		}
	}
	if m := nb.Manifest(); m != nil && !nb.Rerun() {
		r.manifest(m)
		return r
	}
	about, papermill := papermillOf(nb)
	switch {
	case failed || about.Exception:
		r.Status = "fail"
	case papermill && about.End == nil: // it is running, or was cut
		r.Status = "pending"
	case papermill || ran:
		r.Status = "pass"
	}
	r.Params = about.params
	return r
}

func cellName(c *ipynb.Cell, place int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("cell-%d", place+1)
}

// papermillData is what papermill notes of a run. The defaults are empty in its own notebooks, and given in those of
// some services.
type papermillData struct {
	Parameters codec.Raw `json:"parameters"`
	Exception  bool      `json:"exception"`
	End        *string   `json:"end_time"`
	params     []diff.Param
}

func papermillOf(nb *ipynb.Notebook) (about papermillData, found bool) {
	var meta struct {
		Papermill codec.Raw `json:"papermill"`
	}
	if !nb.Metadata.Given() || codec.UnmarshalForeign(nb.Metadata.Raw, &meta) != nil || meta.Papermill.Kind() != '{' {
		return about, false
	}
	if codec.UnmarshalForeign(meta.Papermill, &about) != nil { // of a kind that is not expected
		return papermillData{}, true
	}
	for _, m := range ipynb.Members(ipynb.Value{Raw: about.Parameters}) {
		about.params = append(about.params, diff.Param{Name: m.Name, Value: m.Raw})
	}
	return about, true
}

// outputScraps returns the scraps of an output.
func outputScraps(o *ipynb.Output) []scrapbook.Scrap {
	if len(o.Data) == 0 {
		return nil
	}
	data, metadata := map[string]codec.Raw{}, map[string]codec.Raw{}
	for _, d := range o.Data {
		data[d.MIME] = d.Raw
	}
	if o.Metadata.Given() && len(o.Metadata.Raw) > 2 && codec.UnmarshalForeign(o.Metadata.Raw, &metadata) != nil {
		metadata = nil
	}
	if !scrapbook.Holds(data, metadata) {
		return nil
	}
	return scrapbook.Read(data, metadata)
}
