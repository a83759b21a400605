package documents

import (
	"html"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/runs"
)

// JupyterOf makes a Jupyter notebook of an output notebook in Markdown, from what stands in it and the pictures beside it. The error of one whose
// regions were edited, or that has none, is an ErrorList.
func JupyterOf(name string, src []byte, files Files) ([]byte, error) {
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, err
	}
	got := notebooks.Strip(name, src)
	if len(got.Problems) > 0 {
		return nil, got.Problems
	}
	if got.Manifest == nil {
		return nil, notebooks.ErrorList{{Kind: notebooks.KindRegion, File: name, Msg: "is no output notebook: it has no manifest"}}
	}
	nb, err := notebooks.Parse(name, got.Source)
	if err != nil {
		return nil, err
	}
	cells := map[notebooks.StepID]*render.StepCell{}
	var given []notebooks.Bound
	for _, r := range got.Regions {
		if r.ID == render.ParametersRegion {
			if given, err = injected(nb, r.Body); err != nil {
				return nil, err
			}
			continue
		}
		c := &render.StepCell{}
		if err := (cellReader{c, strings.SplitAfter(string(r.Body), "\n"), files}).read(); err != nil {
			return nil, err
		}
		cells[notebooks.StepID(r.ID)] = c
	}
	return render.Jupyter(nb, got.Manifest, given, cells)
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
	cell  *render.StepCell
	lines []string
	files Files
}

func (r cellReader) read() error {
	var words strings.Builder // lines that are no block
	tell := func() {
		if text := strings.TrimSpace(words.String()); text != "" && text != "No output." {
			r.cell.Markdown(text)
		}
		words.Reset()
	}
	for i := 0; i < len(r.lines); i++ {
		line := strings.TrimRight(r.lines[i], "\n")
		switch {
		case strings.HasPrefix(line, "<details"):
			_, text, _ := strings.Cut(line, "<summary>")
			text, _, _ = strings.Cut(text, "</summary>")
			r.summary(text)
		case line == "</details>":
		case strings.HasPrefix(line, "```"):
			tell()
			info, text, next := readFence(r.lines, i)
			elided := elision(r.lines, next)
			if elided != "" {
				for strings.TrimRight(r.lines[next], "\n") == "" {
					next++
				}
				next++
			}
			if err := r.block(info, text, elided, strings.Join(r.lines[i:next], "")); err != nil {
				return err
			}
			i = next - 1
		case strings.HasPrefix(line, "!["):
			tell()
			alt, to, ok := readPicture(line)
			if ok && r.files != nil {
				if content, err := r.files(to); err == nil {
					r.cell.Picture(pictureType(to), unescaped(alt), content)
					continue
				}
			}
			r.cell.Markdown(line)
		default:
			words.WriteString(line + "\n")
		}
	}
	tell()
	return nil
}

// summary reads how the step ended.
func (r cellReader) summary(text string) {
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

// block takes in one fenced block, with the line that says what is missing after it; page is the block as it stands.
func (r cellReader) block(info, text, elided, page string) error {
	_, class, _ := strings.Cut(info, "{.")
	switch strings.TrimSuffix(class, "}") {
	case "output", "tests":
		r.cell.Stream("stdout", text+elided)
	case "error":
		r.cell.Stream("stderr", text+elided)
	case "diff":
		r.cell.Change(text + elided)
	case "scraps":
		raw := []byte(text)
		c := codec.NewCursor(raw, 0)
		_, err := c.Object(func(name []byte, _ codec.Span) error {
			at, err := c.Skip()
			if err != nil {
				return err
			}
			return r.cell.Scrap(runs.ScrapData{Name: string(name), Value: at.Of(raw)})
		})
		return err
	default:
		r.cell.Markdown(page)
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
