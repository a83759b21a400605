package documents

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/params"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/jupyter"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// JupyterOf converts an output notebook in Markdown, with the pictures beside it, to a Jupyter notebook. It also
// lists what only the record of the run has. For an edited notebook, or one without outputs, the error is an
// ErrorList.
func JupyterOf(name string, src []byte, files Files) ([]byte, []Missing, error) {
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, nil, err
	}
	got := region.Strip(name, src)
	if len(got.Problems) > 0 {
		return nil, nil, got.Problems
	}
	if got.Manifest == nil {
		return nil, nil, notebooks.ErrorList{{Kind: notebooks.KindRegion, File: name,
			Msg: "is no output notebook: it has no manifest"}}
	}
	nb, err := markdown.Parse(name, got.Source)
	if err != nil {
		return nil, nil, err
	}
	cells := map[notebooks.StepID]*jupyter.StepCell{}
	given, err := injected(nb, result.Parameters(got))
	if err != nil {
		return nil, nil, err
	}
	var missing missing
	steps := result.Steps(got)
	for _, r := range got.Regions {
		if r.ID == render.ParametersRegion {
			continue
		}
		c := &jupyter.StepCell{}
		reader := cellReader{cell: c, files: files, missing: &missing, step: r.ID}
		if s := steps[notebooks.StepID(r.ID)]; s != nil {
			c.Status, c.Words = runs.StepStatus(s.Status), strings.Join(result.Summary(s), " · ")
			reader.raised = s.Error
		}
		if err := reader.read(string(r.Body)); err != nil {
			return nil, nil, err
		}
		cells[notebooks.StepID(r.ID)] = c
	}
	out, err := jupyter.FromMarkdown(nb, got.Manifest, given, cells)
	return out, missing.list, err
}

// Missing is something that the record of a run has and its output notebook in Markdown lacks, and the steps that it
// belongs to.
type Missing struct {
	What  string
	Steps []string
}

func (m Missing) String() string {
	noun := "step"
	if len(m.Steps) > 1 {
		noun = "steps"
	}
	return m.What + " of " + noun + " " + plain.Some(m.Steps, 8)
}

// missing groups them by kind.
type missing struct{ list []Missing }

func (m *missing) add(what, step string) {
	i := slices.IndexFunc(m.list, func(one Missing) bool { return one.What == what })
	if i < 0 {
		i = len(m.list)
		m.list = append(m.list, Missing{What: what})
	}
	if !slices.Contains(m.list[i].Steps, step) {
		m.list[i].Steps = append(m.list[i].Steps, step)
	}
}

// injected returns the given values. A secret stays masked.
func injected(nb *notebooks.Notebook, used []notebooks.ManifestParam) ([]notebooks.Bound, error) {
	var text strings.Builder
	for _, p := range used {
		if p.Given {
			fmt.Fprintf(&text, "%s: %s\n", codec.RawOf(p.Name), p.Value)
		}
	}
	given, err := params.ParseGiven("manifest", nb.Name, []byte(text.String()))
	if err != nil {
		return nil, err
	}
	declared := slices.Clone(nb.Params)
	for i := range declared { // what was shown is taken as it is, whatever it stands for
		declared[i] = notebooks.Param{Name: declared[i].Name}
	}
	bound, err := params.Bind(nb.Name, declared, given, params.Options{AllowUnknown: true})
	return slices.DeleteFunc(bound, func(b notebooks.Bound) bool { return !b.Given }), err
}

// cellReader reads a region for the cell of a Jupyter notebook.
type cellReader struct {
	cell    *jupyter.StepCell
	files   Files
	missing *missing
	step    string
	raised  string // name of the exception that ended the step, where it is known

	kinds  map[string]bool // output, error, result: what there is, without the order in which it came
	scraps []runs.ScrapData
}

func (r *cellReader) read(body string) error {
	r.kinds = map[string]bool{}
	for _, p := range parts(body) {
		switch p.kind {
		case partScrap:
			r.values(p.text)
		case partFence:
			if p.elided != "" {
				r.missing.add("the middle of the output", r.step)
			}
			r.block(p)
		case partPicture:
			r.picture(p.text)
		case partWords:
			r.told(strings.TrimSpace(p.text))
		}
	}
	if err := r.glued(); err != nil {
		return err
	}
	if len(r.kinds) > 1 {
		r.missing.add("the order of output, errors and results", r.step)
	}
	return nil
}

// told adds Markdown that is not in a block.
func (r *cellReader) told(text string) {
	if len(r.scraps) > 0 {
		text = r.tables(text)
	}
	switch {
	case text == "" || text == "No output.":
		return
	case strings.HasPrefix(text, "Result ("), strings.HasPrefix(text, "Picture ("):
		r.missing.add("results that are files of the record", r.step)
	case strings.HasPrefix(text, "… "), strings.HasPrefix(text, "Output not kept"),
		strings.HasPrefix(text, "Output hidden"):
		r.missing.add("output", r.step)
	}
	r.cell.Markdown(text)
}

// picture adds a picture that stands beside the notebook.
func (r *cellReader) picture(line string) {
	alt, to, ok := readPicture(line)
	if ok && r.files != nil {
		if content, err := r.files(to); err == nil {
			r.kinds["result"] = true
			r.cell.Picture(pictureType(to), unescaped(alt), content)
			return
		}
	}
	r.missing.add("a picture, whose file is not here,", r.step)
	r.cell.Markdown(line)
}

// block takes in one fenced block.
func (r *cellReader) block(p part) {
	switch p.class {
	case "output", "tests", "turn":
		r.kinds["output"] = true
		r.cell.Stream("stdout", p.text)
	case "result":
		r.kinds["result"] = true
		r.missing.add("HTML and other forms of the results", r.step)
		r.cell.Result(strings.TrimSuffix(p.text, "\n"))
	case "error":
		r.kinds["error"] = true
		r.failure(p.text)
	case "diff":
		r.cell.Change(p.text)
	case "scraps":
		r.values(p.text)
	default:
		r.cell.Markdown(p.page)
	}
}

// values reads scraps: an object of JSON.
func (r *cellReader) values(text string) {
	members := ipynb.Members(ipynb.Value{Raw: codec.Raw(text)})
	if members == nil {
		r.missing.add("scraps that are not JSON,", r.step)
	}
	for _, m := range members {
		r.scraps = append(r.scraps, runs.ScrapData{Name: m.Name, Value: m.Raw})
	}
}

// tables marks the scraps that are shown as tables after the block of scraps, and returns the rest of the text.
func (r *cellReader) tables(text string) (rest string) {
	var kept []string
	parts := strings.Split(text, "\n\n")
	for i := 0; i < len(parts); i++ {
		name, bold := strings.CutPrefix(strings.TrimSpace(parts[i]), "**")
		name, ended := strings.CutSuffix(name, "**")
		at := slices.IndexFunc(r.scraps, func(s runs.ScrapData) bool {
			return bold && ended && s.Name == unescaped(name)
		})
		if at < 0 || i+1 == len(parts) || !strings.HasPrefix(parts[i+1], "|") {
			kept = append(kept, parts[i])
			continue
		}
		r.scraps[at].Type, r.scraps[at].Display = runs.ScrapTable, true
		i++
	}
	return strings.Join(kept, "\n\n")
}

// glued adds the scraps.
func (r *cellReader) glued() error {
	for _, s := range r.scraps {
		var about struct {
			File   string `json:"file"`
			Digest string `json:"digest"`
			Elided string `json:"elided"`
		}
		if len(s.Value) > 0 && s.Value[0] == '{' && codec.Unmarshal(s.Value, &about) == nil &&
			(about.Elided != "" || about.File != "" && about.Digest != "") {
			r.missing.add("scraps that are files, or too long for a page,", r.step)
		}
		if err := r.cell.Scrap(s); err != nil {
			return err
		}
	}
	return nil
}

// unescaped removes Markdown escapes.
func unescaped(alt string) string {
	var b strings.Builder
	for i := 0; i < len(alt); i++ {
		if alt[i] == '\\' && i+1 < len(alt) {
			i++
		}
		b.WriteByte(alt[i])
	}
	return b.String()
}
