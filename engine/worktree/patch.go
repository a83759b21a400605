package worktree

import (
	"bytes"
	"fmt"
	"strings"
)

// contextLines is how many unchanged lines a hunk shows on each side.
const contextLines = 3

// head writes the extended header of one path, as `git diff --full-index --binary` has it.
func (d *delta) head(out *bytes.Buffer, f *format) {
	from := d.path
	if d.from != "" {
		from = d.from
	}
	fmt.Fprintf(out, "diff --git %s %s\n", quote("a/"+from), quote("b/"+d.path))
	switch {
	case d.old.mode == 0:
		fmt.Fprintf(out, "new file mode %06o\n", d.new.mode)
	case d.new.mode == 0:
		fmt.Fprintf(out, "deleted file mode %06o\n", d.old.mode)
	case d.old.mode != d.new.mode:
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", d.old.mode, d.new.mode)
	}
	if d.from != "" {
		fmt.Fprintf(out, "similarity index 100%%\nrename from %s\nrename to %s\n", quote(d.from), quote(d.path))
	}
	if d.old.oid == d.new.oid {
		return
	}
	name := func(x digest) string {
		if x.zero() {
			return strings.Repeat("0", 2*f.size)
		}
		return string(f.oid(x))
	}
	fmt.Fprintf(out, "index %s..%s", name(d.old.oid), name(d.new.oid))
	if d.old.mode == d.new.mode {
		fmt.Fprintf(out, " %06o", d.new.mode)
	}
	out.WriteByte('\n')
}

// write appends the patch of one path and counts its lines.
func (d *delta) write(out *bytes.Buffer, f *format, old, new []byte) (added, deleted int) {
	d.head(out, f)
	if isBinary(old) || isBinary(new) || bytes.Count(old, []byte{'\n'})+bytes.Count(new, []byte{'\n'}) > maxTextLines {
		writeBinary(out, old, new)
		return 0, 0
	}
	a, b := splitLines(old), splitLines(new)
	if len(a) == 0 && len(b) == 0 {
		return 0, 0
	}
	side := func(mark string, e entry) {
		name := "/dev/null"
		if e.mode != 0 {
			name = quote(mark + d.path)
			if strings.Contains(name, " ") && name[0] != '"' {
				name += "\t" // so that a reader knows where the name ends
			}
		}
		out.WriteString(name + "\n")
	}
	out.WriteString("--- ")
	side("a/", d.old)
	out.WriteString("+++ ")
	side("b/", d.new)
	gone, come := lineDiff(a, b)
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

// block is one change: lines i0..i1 of the old become lines j0..j1 of the new.
type block struct{ i0, i1, j0, j1 int }

func blocks(gone, come []bool) []block {
	var out []block
	i, j := 0, 0
	for i < len(gone) || j < len(come) {
		b := block{i, i, j, j}
		for b.i1 < len(gone) && gone[b.i1] {
			b.i1++
		}
		for b.j1 < len(come) && come[b.j1] {
			b.j1++
		}
		if b.i1 > b.i0 || b.j1 > b.j0 {
			out = append(out, b)
			i, j = b.i1, b.j1
		} else {
			i, j = i+1, j+1
		}
	}
	return out
}

func writeHunks(out *bytes.Buffer, a, b [][]byte, gone, come []bool) {
	all := blocks(gone, come)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].i0-all[n-1].i1 <= 2*contextLines {
			n++
		}
		writeHunk(out, a, b, all[:n])
		all = all[n:]
	}
}

func writeHunk(out *bytes.Buffer, a, b [][]byte, list []block) {
	first, last := list[0], list[len(list)-1]
	before := min(contextLines, first.i0)
	after := min(contextLines, len(a)-last.i1)
	i, j := first.i0-before, first.j0-before
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(i, last.i1+after-i), span(j, last.j1+after-j))
	for _, k := range list {
		for ; i < k.i0; i++ {
			writeLine(out, ' ', a[i])
		}
		for ; i < k.i1; i++ {
			writeLine(out, '-', a[i])
		}
		for j = k.j0; j < k.j1; j++ {
			writeLine(out, '+', b[j])
		}
	}
	for ; i < last.i1+after; i++ {
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
