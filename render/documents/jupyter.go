package documents

import (
	"encoding/base64"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/result"
)

// volatile lists metadata of notebooks and cells that programs write for themselves.
var volatile = []string{"collapsed", "scrolled", "trusted", "execution", "ExecuteTime", "executionInfo", "papermill",
	"markmill.manifest", "markmill.result", "markmill.added", "widgets", "toc", "varInspector",
	"language_info.version", "language_info.codemirror_mode", "language_info.pygments_lexer",
	"language_info.nbconvert_exporter", "kernelspec.display_name",
	"pycharm", "colab", "outputId", "vscode", "nbformat", "signature", "orig_nbformat"}

// Jupyter reads a Jupyter notebook.
func Jupyter(nb *ipynb.Notebook) *diff.Document {
	doc := &diff.Document{Name: nb.Name, Form: "jupyter", Source: region.DigestOf(nb.Source)}
	doc.Options = append(fields(nb.Metadata, ""), diff.Field{Name: "nbformat",
		Value: codec.RawOf(fmt.Sprintf("%d.%d", nb.NBFormat, nb.Minor)), Volatile: true})
	lang := nb.NamedLanguage()
	names, m := nb.StepNames(), nb.Manifest()
	if nb.Rerun() {
		m = nil
	}
	steps := result.StepsOf(m)
	for i := range nb.Cells {
		if nb.Cells[i].Verdict() { // what it says, the manifest says
			continue
		}
		c := jupyterCell(&nb.Cells[i], i, lang)
		if names[i] != "" {
			c.Label = names[i]
		}
		if s := steps[notebooks.StepID(c.Label)]; s != nil {
			words := c.Words
			setResult(&c, s)
			c.Words = words // Jupyter names the exception, and has no exit codes
		}
		doc.Cells = append(doc.Cells, c)
	}
	var meta struct {
		Papermill struct {
			Parameters codec.Raw `json:"parameters"`
		} `json:"papermill"`
	}
	if nb.Metadata.Given() && codec.Unmarshal(nb.Metadata.Raw, &meta) == nil && len(meta.Papermill.Parameters) > 0 {
		for _, f := range members(meta.Papermill.Parameters) {
			doc.Params = append(doc.Params, diff.Param{Name: f.Name, Value: f.Value})
		}
	}
	if m != nil {
		doc.Status = m.Status
		return doc
	}
	for i := range doc.Cells {
		if s := doc.Cells[i].Status; s != "" && doc.Status != "fail" {
			doc.Status = s
		}
	}
	return doc
}

// members lists the members of an object by name, nil for any other value.
func members(raw codec.Raw) []diff.Field {
	var all map[string]codec.Raw
	if len(raw) == 0 || codec.Unmarshal(raw, &all) != nil {
		return nil
	}
	out := make([]diff.Field, 0, len(all))
	for name, v := range all {
		out = append(out, diff.Field{Name: name, Value: canonical(v)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// fields lists metadata. Language and kernel are listed by member, because some of their members are noise.
func fields(meta ipynb.Value, prefix string) []diff.Field {
	if !meta.Given() {
		return nil
	}
	var out []diff.Field
	for _, f := range members(meta.Raw) {
		if f.Name == "language_info" || f.Name == "kernelspec" || f.Name == "markmill" {
			for _, g := range members(f.Value) {
				g.Name = f.Name + "." + g.Name
				g.Volatile = slices.Contains(volatile, g.Name)
				out = append(out, g)
			}
			continue
		}
		f.Volatile = slices.Contains(volatile, f.Name)
		f.Name = prefix + f.Name
		out = append(out, f)
	}
	return out
}

func jupyterCell(c *ipynb.Cell, place int, lang string) diff.Cell {
	out := diff.Cell{ID: c.ID, GeneratedID: true, Label: fmt.Sprintf("cell-%d", place+1), Kind: diff.CellKind(c.Type),
		Source: diff.Ended(c.Source), Tags: c.Tags}
	switch out.Kind {
	case diff.Code:
		out.Lang = lang
	case diff.Markdown:
		out.Lang, out.Label = "markdown", textLabel(c.Source, place+1)
	}
	for _, f := range fields(c.Metadata, "") {
		if f.Name != "tags" {
			out.Options = append(out.Options, f)
		}
	}
	for _, f := range members(c.Attachments.Raw) {
		out.Options = append(out.Options, diff.Field{Name: "attachment " + f.Name,
			Value: codec.RawOf(region.DigestOf(f.Value))})
	}
	if c.Count.Given() {
		out.Count, _ = strconv.Atoi(string(c.Count.Raw))
		out.Status = "pass"
	}
	for i := range c.Outputs {
		o := &c.Outputs[i]
		if o.Type == "error" {
			out.Status, out.Words = "fail", o.Ename
		}
		shown := true
		for _, s := range outputScraps(o) {
			if !s.Shown { // else an output like others
				out.Scraps = setScrap(out.Scraps, s.ScrapData)
				shown = s.Display
			}
		}
		if shown {
			out.Outputs = append(out.Outputs, jupyterOutput(o))
		}
	}
	return out
}

func jupyterOutput(o *ipynb.Output) diff.Output {
	switch o.Type {
	case "stream":
		name := o.Name
		if name != diff.Stderr {
			name = diff.Stdout
		}
		return diff.Output{Name: name, Data: []diff.Datum{{MIME: "text/plain", Text: resolved(o.Text())}}}
	case "error":
		text := resolved(strings.Join(o.Traceback, "\n"))
		if strings.TrimSpace(text) == "" {
			text = o.Ename + ": " + o.Evalue + "\n"
		}
		return diff.Output{Name: diff.Failure, Data: []diff.Datum{{MIME: "text/plain", Text: diff.Ended(text)}}}
	}
	out := diff.Output{Name: diff.Display, Options: fields(o.Metadata, "")}
	for _, d := range o.Data {
		out.Data = append(out.Data, jupyterDatum(d))
	}
	slices.SortStableFunc(out.Data, func(a, b diff.Datum) int {
		return strings.Compare(richness(a.MIME), richness(b.MIME))
	})
	return out
}

// richness orders media types: the least informative first.
func richness(mime string) string {
	switch {
	case mime == "text/plain":
		return "0"
	case strings.HasPrefix(mime, "text/"):
		return "1" + mime
	}
	return "2" + mime
}

func jupyterDatum(d ipynb.Datum) diff.Datum {
	if d.JSON() || len(d.Raw) > 0 && d.Raw[0] != '"' && d.Raw[0] != '[' {
		text, err := codec.Indent(d.Raw)
		if err != nil {
			text = d.Raw
		}
		return diff.Datum{MIME: d.MIME, Text: string(text)}
	}
	text := d.Text()
	if strings.HasPrefix(d.MIME, "image/") && d.MIME != "image/svg+xml" || strings.HasPrefix(d.MIME, "audio/") ||
		strings.HasPrefix(d.MIME, "video/") || d.MIME == "application/pdf" {
		if data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err == nil {
			return diff.Datum{MIME: d.MIME, Bytes: data, Digest: region.DigestOf(data)}
		}
	}
	return diff.Datum{MIME: d.MIME, Text: text}
}

// resolved returns text as a terminal would show it, without colors and overwritten parts.
func resolved(text string) string {
	if !strings.ContainsAny(text, "\x1b\r\b") {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(plain.Resolve([]byte(body)))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
