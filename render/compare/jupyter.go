package compare

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/render/plain"
	"markmill/render/safe"
)

// JupyterOptions configure how the outputs of a Jupyter notebook are read.
type JupyterOptions struct {
	// Foreign says that another program saved the outputs. As in nbval, cells without a count then did not run, and the
	// bytes of pictures, which depend on the version of the drawing library, are not compared.
	Foreign bool
	Paths   func(text string) string // puts names in the place of the machine's paths; nil leaves them
}

// Jupyter reads the outputs of a Jupyter notebook. As in nbval it leaves out counts, metadata, tracebacks, widget
// models, and the order of streams and results.
func Jupyter(nb *ipynb.Notebook, cells []ipynb.StepCell, o JupyterOptions) Output {
	var out Output
	for _, sc := range cells {
		c := sc.Cell
		if !o.Foreign && !c.Count.Given() && len(c.Outputs) == 0 {
			continue // it did not run, or it is empty
		}
		s := Step{ID: string(sc.Step.ID), Unrun: o.Foreign && !c.Count.Given() && len(c.Outputs) == 0}
		if !s.Unrun {
			s.Lines = o.cell(s.ID, c)
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}

// cell returns the lines of a cell: how it ended, its streams, its results.
func (o JupyterOptions) cell(id string, c *ipynb.Cell) []string {
	head, streams := "✓ "+id, map[string]*strings.Builder{}
	var names, shown []string
	for i := range c.Outputs {
		switch out := &c.Outputs[i]; out.Type {
		case "stream":
			if streams[out.Name] == nil {
				streams[out.Name] = &strings.Builder{}
				names = append(names, out.Name)
			}
			streams[out.Name].WriteString(out.Text())
		case "error":
			head = "✗ " + id + " · " + strings.Join(strings.Fields(out.Ename+": "+o.named(out.Evalue)), " ")
		default:
			shown = append(shown, o.result(out)...)
		}
	}
	lines := []string{plain.Line([]byte(head))}
	slices.Sort(names)
	slices.Reverse(names) // stdout, stderr
	for _, name := range names {
		text, ended := strings.CutSuffix(o.named(streams[name].String()), "\n")
		lines = append(lines, "", "["+plain.Line([]byte(name))+"]")
		lines = append(lines, textLines(text)...)
		if !ended {
			lines = append(lines, "(no newline at the end)")
		}
	}
	return append(lines, shown...)
}

// result returns a result in all its representations.
func (o JupyterOptions) result(out *ipynb.Output) []string {
	if ownNote(out) {
		return nil
	}
	data := slices.Clone(out.Data)
	slices.SortStableFunc(data, func(a, b ipynb.Datum) int { return strings.Compare(a.MIME, b.MIME) })
	var lines []string
	for _, d := range data {
		picture := strings.HasPrefix(d.MIME, "image/") && d.MIME != "image/svg+xml"
		if d.MIME == "application/vnd.jupyter.widget-view+json" || o.Foreign && picture {
			continue
		}
		lines = append(lines, "", "[result "+plain.Escape(d.MIME)+"]")
		switch text := d.Text(); {
		case picture || d.MIME == "application/pdf":
			raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
			if err != nil {
				raw = []byte(text)
			}
			lines = append(lines, fmt.Sprintf("sha256:%x", sha256.Sum256(raw)))
		case d.JSON() || len(d.Raw) > 0 && d.Raw[0] != '"' && d.Raw[0] != '[':
			pretty, err := codec.Indent(d.Raw)
			if err != nil { // what only a lenient reader takes
				pretty = d.Raw
			}
			lines = append(lines, textLines(strings.TrimSuffix(o.named(string(pretty)), "\n"))...)
		default:
			text = o.named(text)
			if len(data) > 1 && d.MIME == "text/plain" { // what stands for a picture or a table: no author printed it
				text = safe.WithoutAddress(text)
			}
			lines = append(lines, textLines(text)...)
		}
	}
	return lines
}

// ownNote reports whether Markmill, and not the step, made an output (the patch of the step).
func ownNote(out *ipynb.Output) bool {
	return slices.ContainsFunc(ipynb.Members(out.Metadata), func(m ipynb.Member) bool { return m.Name == "markmill" })
}

func (o JupyterOptions) named(text string) string {
	if o.Paths == nil {
		return text
	}
	return o.Paths(text)
}

// textLines returns the lines of a text as a terminal would show them.
func textLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plain.Line([]byte(line))
	}
	return lines
}
