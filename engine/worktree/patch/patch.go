package patch

import (
	"bytes"
	"fmt"
	"strings"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks/linediff"
)

// contextLines is how many unchanged lines a hunk shows on each side.
const contextLines = 3

// Head writes the extended header of one path, as `git diff --full-index --binary` has it.
func (d *Delta) Head(out *bytes.Buffer, f *object.Format) {
	from := d.Path
	if d.From != "" {
		from = d.From
	}
	fmt.Fprintf(out, "diff --git %s %s\n", quote.Path("a/"+from), quote.Path("b/"+d.Path))
	switch {
	case d.Old.Mode == 0:
		fmt.Fprintf(out, "new file mode %06o\n", d.New.Mode)
	case d.New.Mode == 0:
		fmt.Fprintf(out, "deleted file mode %06o\n", d.Old.Mode)
	case d.Old.Mode != d.New.Mode:
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", d.Old.Mode, d.New.Mode)
	}
	if d.From != "" {
		fmt.Fprintf(out, "similarity index 100%%\nrename from %s\nrename to %s\n", quote.Path(d.From), quote.Path(d.Path))
	}
	if d.Old.OID == d.New.OID {
		return
	}
	name := func(x object.Digest) string {
		if x.IsZero() {
			return strings.Repeat("0", 2*f.Size)
		}
		return string(f.OID(x))
	}
	fmt.Fprintf(out, "index %s..%s", name(d.Old.OID), name(d.New.OID))
	if d.Old.Mode == d.New.Mode {
		fmt.Fprintf(out, " %06o", d.New.Mode)
	}
	out.WriteByte('\n')
}

// Write appends the patch of one path and counts its lines.
func (d *Delta) Write(out *bytes.Buffer, f *object.Format, old, new []byte) (added, deleted int) {
	d.Head(out, f)
	if IsBinary(old) || IsBinary(new) || bytes.Count(old, []byte{'\n'})+bytes.Count(new, []byte{'\n'}) > maxTextLines {
		writeBinary(out, old, new)
		return 0, 0
	}
	a, b := linediff.Split(old), linediff.Split(new)
	if len(a) == 0 && len(b) == 0 {
		return 0, 0
	}
	writeName := func(mark string, e Side) {
		name := "/dev/null"
		if e.Mode != 0 {
			name = quote.Path(mark + d.Path)
			if strings.Contains(name, " ") && name[0] != '"' {
				name += "\t" // so that a reader knows where the name ends
			}
		}
		out.WriteString(name + "\n")
	}
	out.WriteString("--- ")
	writeName("a/", d.Old)
	out.WriteString("+++ ")
	writeName("b/", d.New)
	gone, come := linediff.Lines(a, b)
	writeHunks(out, a, b, gone, come)
	for _, g := range gone {
		if g {
			deleted++
		}
	}
	for _, c := range come {
		if c {
			added++
		}
	}
	return added, deleted
}

func writeHunks(out *bytes.Buffer, a, b [][]byte, gone, come []bool) {
	all := linediff.Blocks(gone, come)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].I0-all[n-1].I1 <= 2*contextLines {
			n++
		}
		writeHunk(out, a, b, all[:n])
		all = all[n:]
	}
}

func writeHunk(out *bytes.Buffer, a, b [][]byte, list []linediff.Block) {
	first, last := list[0], list[len(list)-1]
	before := min(contextLines, first.I0)
	after := min(contextLines, len(a)-last.I1)
	i, j := first.I0-before, first.J0-before
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(i, last.I1+after-i), span(j, last.J1+after-j))
	for _, k := range list {
		for ; i < k.I0; i++ {
			writeLine(out, ' ', a[i])
		}
		for ; i < k.I1; i++ {
			writeLine(out, '-', a[i])
		}
		for j = k.J0; j < k.J1; j++ {
			writeLine(out, '+', b[j])
		}
	}
	for ; i < last.I1+after; i++ {
		writeLine(out, ' ', a[i])
	}
}

// span is a range of lines as a hunk header has it: of none, the line before it.
func span(start, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}

func writeLine(out *bytes.Buffer, mark byte, line []byte) {
	out.WriteByte(mark)
	out.Write(line)
	if line[len(line)-1] != '\n' {
		out.WriteString("\n\\ No newline at end of file\n")
	}
}
