package documents

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/runs"
)

// JupyterOf makes a Jupyter notebook of an output notebook in Markdown, from what stands in it and the pictures beside
// it, and lists what the record of the run has beyond that. The error of one whose regions were edited, or that has
// none, is an ErrorList.
func JupyterOf(name string, src []byte, files Files) ([]byte, []Missing, error) {
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, nil, err
	}
	got := notebooks.Strip(name, src)
	if len(got.Problems) > 0 {
		return nil, nil, got.Problems
	}
	if got.Manifest == nil {
		return nil, nil, notebooks.ErrorList{{Kind: notebooks.KindRegion, File: name, Msg: "is no output notebook: it has no manifest"}}
	}
	nb, err := notebooks.Parse(name, got.Source)
	if err != nil {
		return nil, nil, err
	}
	cells := map[notebooks.StepID]*render.StepCell{}
	var given []notebooks.Bound
	var missing missing
	for _, r := range got.Regions {
		if r.ID == render.ParametersRegion {
			if given, err = injected(nb, r.Body); err != nil {
				return nil, nil, err
			}
			continue
		}
		c := &render.StepCell{}
		if err := (&cellReader{cell: c, lines: strings.SplitAfter(string(r.Body), "\n"), files: files, missing: &missing, step: r.ID}).read(); err != nil {
			return nil, nil, err
		}
		for i := range got.Manifest.Steps {
			if s := &got.Manifest.Steps[i]; string(s.ID) == r.ID {
				c.Status = runs.StepStatus(s.Status)
			}
		}
		cells[notebooks.StepID(r.ID)] = c
	}
	out, err := render.Jupyter(nb, got.Manifest, given, cells)
	return out, missing.list, err
}

// Missing is something that the record of a run has and its output notebook in Markdown has not, and the steps whose it
// is.
type Missing struct {
	What  string
	Steps []string
}

func (m Missing) String() string {
	const most = 8
	noun := "step"
	if len(m.Steps) > 1 {
		noun = "steps"
	}
	shown, more := m.Steps, ""
	if n := len(m.Steps) - most; n > 0 {
		shown, more = m.Steps[:most], fmt.Sprintf(" and %d more", n)
	}
	return m.What + " of " + noun + " " + strings.Join(shown, ", ") + more
}

// missing collects them by what they are.
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

// injected reads the values that the region of the parameters shows. A secret stands there as a mark, and stays one.
func injected(nb *notebooks.Notebook, body []byte) ([]notebooks.Bound, error) {
	lines := strings.SplitAfter(string(body), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "```") })
	if at < 0 {
		return nil, nil
	}
	_, text, _ := readFence(lines, at)
	given, err := notebooks.ParseGivenYAML("region", nb.Name, []byte(text))
	if err != nil {
		return nil, err
	}
	params := slices.Clone(nb.Params)
	for i := range params { // what was shown is taken as it is, whatever it stands for
		params[i] = notebooks.Param{Name: params[i].Name}
	}
	bound, err := notebooks.Bind(nb.Name, params, given, notebooks.BindOptions{AllowUnknown: true})
	return slices.DeleteFunc(bound, func(b notebooks.Bound) bool { return !b.Given }), err
}

// cellReader reads a region for the cell of a Jupyter notebook.
type cellReader struct {
	cell    *render.StepCell
	lines   []string
	files   Files
	missing *missing
	step    string

	kinds  map[string]bool // what there is whose order is not told: output, error, result
	scraps []runs.ScrapData
	words  strings.Builder // lines that are no block
}

func (r *cellReader) read() error {
	r.kinds = map[string]bool{}
	for i := 0; i < len(r.lines); i++ {
		line := strings.TrimRight(r.lines[i], "\n")
		summary, isSummary := summaryOf(line)
		shown, isScrap := scrapComment(line)
		switch {
		case isSummary:
			r.tell()
			r.summary(summary)
		case isScrap:
			r.tell()
			if err := r.values(shown); err != nil {
				return err
			}
		case line == "</details>":
		case strings.HasPrefix(line, "```"):
			r.tell()
			info, text, next := readFence(r.lines, i)
			page := strings.Join(r.lines[i:next], "")
			if elided := elision(r.lines, next); elided != "" {
				r.missing.add("the middle of the output", r.step)
				for strings.TrimRight(r.lines[next], "\n") == "" {
					next++
				}
				next++
				text, next = r.tail(info, text+elided, next)
				page = strings.Join(r.lines[i:next], "")
			}
			if err := r.block(info, text, page); err != nil {
				return err
			}
			i = next - 1
		case strings.HasPrefix(line, "!["):
			r.tell()
			r.picture(line)
		default:
			r.words.WriteString(line + "\n")
		}
	}
	r.tell()
	if err := r.glued(); err != nil {
		return err
	}
	if len(r.kinds) > 1 {
		r.missing.add("the order of output, errors and results", r.step)
	}
	return nil
}

// tail adds to a block the one that has its end, behind the words of what is elided between the two.
func (r *cellReader) tail(info, text string, at int) (whole string, next int) {
	for next = at; next < len(r.lines); next++ {
		line := strings.TrimRight(r.lines[next], "\n")
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "```") && strings.TrimLeft(line, "`") == info {
			_, rest, next := readFence(r.lines, next)
			return text + rest, next
		}
		break
	}
	return text, at
}

// tell adds the lines that were no block.
func (r *cellReader) tell() {
	text := strings.TrimSpace(r.words.String())
	r.words.Reset()
	if len(r.scraps) > 0 {
		text = r.tables(text)
	}
	switch {
	case text == "" || text == "No output.":
		return
	case strings.HasPrefix(text, "Result ("), strings.HasPrefix(text, "Picture ("):
		r.missing.add("results that are files of the record", r.step)
	case strings.HasPrefix(text, "… "), strings.HasPrefix(text, "Output not kept"), strings.HasPrefix(text, "Output hidden"):
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

// summary reads how the step ended.
func (r *cellReader) summary(text string) {
	head, rest, _ := strings.Cut(text, "</code>")
	mark, _, _ := strings.Cut(head, " ")
	r.cell.Words = html.UnescapeString(strings.TrimPrefix(rest, " · "))
	r.cell.Status = map[string]runs.StepStatus{"✓": runs.StepPassed, "✗": runs.StepFailed, "⏱": runs.StepTimeout, "○": runs.StepSkipped}[mark]
	switch {
	case mark == "✓" && (strings.Contains(r.cell.Words, ", allowed") || strings.Contains(r.cell.Words, ", as expected")):
		r.cell.Status = runs.StepAllowed
	case mark == "○" && r.cell.Words == "not reached":
		r.cell.Status = runs.StepPending
	}
}

// block takes in one fenced block, whole but for what is elided in it; page is the block as it stands.
func (r *cellReader) block(info, text, page string) error {
	_, class, _ := strings.Cut(info, "{.")
	switch strings.TrimSuffix(class, "}") {
	case "output", "tests":
		r.kinds["output"] = true
		r.cell.Stream("stdout", text)
	case "result":
		r.kinds["result"] = true
		r.missing.add("HTML and other forms of the results", r.step)
		r.cell.Result(strings.TrimSuffix(text, "\n"))
	case "error":
		r.kinds["error"] = true
		r.failure(text)
	case "diff":
		r.cell.Change(text)
	case "scraps":
		return r.values(text)
	default:
		r.cell.Markdown(page)
	}
	return nil
}

// values reads scraps: an object of JSON.
func (r *cellReader) values(text string) error {
	raw := []byte(text)
	c := codec.NewCursor(raw, 0)
	_, err := c.Object(func(name []byte, _ codec.Span) error {
		at, err := c.Skip()
		if err != nil {
			return err
		}
		r.scraps = append(r.scraps, runs.ScrapData{Name: string(name), Value: at.Of(raw)})
		return nil
	})
	return err
}

// tables finds the scraps that are shown as tables behind the block of scraps, and gives the rest of a text.
func (r *cellReader) tables(text string) (rest string) {
	var kept []string
	parts := strings.Split(text, "\n\n")
	for i := 0; i < len(parts); i++ {
		name, bold := strings.CutPrefix(strings.TrimSpace(parts[i]), "**")
		name, ended := strings.CutSuffix(name, "**")
		at := slices.IndexFunc(r.scraps, func(s runs.ScrapData) bool { return bold && ended && s.Name == unescaped(name) })
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
		if len(s.Value) > 0 && s.Value[0] == '{' && codec.Unmarshal(s.Value, &about) == nil && (about.Elided != "" || about.File != "" && about.Digest != "") {
			r.missing.add("scraps that are files, or too long for a page,", r.step)
		}
		if err := r.cell.Scrap(s); err != nil {
			return err
		}
	}
	return nil
}

// unescaped is the text of a picture without the escapes of Markdown.
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
