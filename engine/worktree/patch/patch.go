package patch

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks/linediff"
)

// Head writes the extended header of one path, as `git diff --full-index --binary` has it.
func (d *Delta) Head(out *bytes.Buffer, f *object.Format) {
	fmt.Fprintf(out, "diff --git %s %s\n", quote.Path("a/"+cmp.Or(d.From, d.Path)), quote.Path("b/"+d.Path))
	switch {
	case d.Old.Mode == 0:
		fmt.Fprintf(out, "new file mode %06o\n", d.New.Mode)
	case d.New.Mode == 0:
		fmt.Fprintf(out, "deleted file mode %06o\n", d.Old.Mode)
	case d.Old.Mode != d.New.Mode:
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", d.Old.Mode, d.New.Mode)
	}
	if d.From != "" {
		fmt.Fprintf(out, "similarity index 100%%\nrename from %s\nrename to %s\n", quote.Path(d.From),
			quote.Path(d.Path))
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

// split returns the change as a patch holds it: a file that became a link, or the like, is one path that goes and one
// that comes.
func (d *Delta) split() []Delta {
	if d.Old.Mode == 0 || d.New.Mode == 0 || d.Old.Mode&disk.ModeType == d.New.Mode&disk.ModeType {
		return []Delta{*d}
	}
	return []Delta{{Path: d.Path, Old: d.Old}, {Path: d.Path, New: d.New}}
}

// Write appends the patch of one path and counts its lines.
func (d *Delta) Write(out *bytes.Buffer, f *object.Format, old, new []byte) (added, deleted int) {
	if both := d.split(); len(both) == 2 {
		_, deleted = both[0].Write(out, f, old, nil)
		added, _ = both[1].Write(out, f, nil, new)
		return added, deleted
	}
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
	linediff.Unified(out, a, b, gone, come, func(line []byte) { writeLine(out, line) })
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

func writeLine(out *bytes.Buffer, line []byte) {
	out.Write(line)
	if line[len(line)-1] != '\n' {
		out.WriteString("\n\\ No newline at end of file\n")
	}
}
