package jupyter

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
	"markmill/render/safe"
)

// address matches the default representation of objects, which varies from run to run.
var address = lazyregexp.New(`\b0x[0-9a-fA-F]{5,16}\b`)

// Text renders a Jupyter notebook for line comparison: a heading for each cell and output, and their texts. It
// leaves out counts, ids and session metadata; pictures are shown by size and digest. The notebook cannot be
// restored from it.
func Text(nb *ipynb.Notebook) []byte {
	var b strings.Builder
	metadata(&b, nb.Metadata, "metadata", "signature", "widgets", "orig_nbformat", "orig_nbformat_minor",
		"language_info", "papermill")
	for i := range nb.Cells {
		cell := &nb.Cells[i]
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "## %s cell\n", plain.Escape(cell.Type))
		metadata(&b, cell.Metadata, "metadata", "collapsed", "ExecuteTime", "execution", "heading_collapsed", "hidden",
			"scrolled", "trusted", "papermill")
		if cell.Source != "" {
			b.WriteByte('\n')
			b.WriteString(safe.Clean([]byte(cell.Source), func(line []byte) (string, bool) {
				return plain.Escape(string(line)), true
			}))
		}
		for j := range cell.Outputs {
			outputText(&b, &cell.Outputs[j])
		}
	}
	return []byte(b.String())
}

// metadata writes the members of an object, a line each, except those named in but.
func metadata(b *strings.Builder, v ipynb.Value, title string, but ...string) {
	for _, m := range ipynb.Members(v) {
		if !slices.Contains(but, m.Name) && string(m.Raw) != "[]" && string(m.Raw) != "{}" {
			if m.Name == "markmill" { // what a run left is noise, what the author wants is not
				metadata(b, m.Value, title+".markmill", "manifest", "result", "added")
				continue
			}
			fmt.Fprintf(b, "%s.%s: %s\n", title, plain.Escape(m.Name), jsonLine(m.Raw))
		}
	}
}

// jsonLine formats a value on one line. What is not JSON (Python's NaN) stays as it is.
func jsonLine(raw codec.Raw) string {
	if line, err := codec.Marshal(raw); err == nil {
		return plain.Escape(string(line))
	}
	return plain.Escape(strings.Join(strings.Fields(string(raw)), " "))
}

func outputText(b *strings.Builder, out *ipynb.Output) {
	fmt.Fprintf(b, "\n### %s\n", plain.Escape(strings.TrimRight("output "+out.Type+" "+out.Name, " ")))
	if out.Type == "stream" {
		b.WriteByte('\n')
		b.WriteString(outputLines(out.Text()))
	}
	if out.Type == "error" {
		fmt.Fprintf(b, "\n%s: %s\n", outputWord(out.Ename), outputWord(out.Evalue))
		b.WriteString(outputLines(strings.Join(out.Traceback, "\n")))
	}
	readable := slices.ContainsFunc(out.Data, func(d ipynb.Datum) bool { return d.MIME == "text/plain" })
	for _, d := range out.Data {
		switch text := d.Text(); {
		case d.MIME == "text/plain" || !readable && strings.HasPrefix(d.MIME, "text/") && text != "":
			fmt.Fprintf(b, "\n%s", outputLines(text))
		case text != "" && !strings.HasPrefix(d.MIME, "text/"):
			sum := sha256.Sum256([]byte(text))
			fmt.Fprintf(b, "%s: %d characters, sha256 %x\n", plain.Escape(d.MIME), len(text), sum[:6])
		case text == "" && d.Given() && d.JSON():
			fmt.Fprintf(b, "%s: %s\n", plain.Escape(d.MIME), jsonLine(d.Raw))
		default:
			fmt.Fprintf(b, "%s\n", plain.Escape(d.MIME))
		}
	}
}

// outputLines returns the lines of an output as a terminal would show them, without addresses.
func outputLines(text string) string {
	return safe.Clean([]byte(text), func(line []byte) (string, bool) { return outputWord(string(line)), true })
}

func outputWord(text string) string {
	return address.ReplaceAllString(plain.Line([]byte(strings.ReplaceAll(text, "\n", " "))), "<address>")
}
