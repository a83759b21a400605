package linediff

import (
	"bytes"
	"fmt"
)

// Context is the number of unchanged lines that a hunk shows on each side, as in diff -u.
const Context = 3

// Unified writes the hunks of a unified diff (POSIX, diff -u) of two texts; gone and come are those of Lines. line
// writes one line after its mark.
func Unified[T ~string | ~[]byte](out *bytes.Buffer, a, b []T, gone, come []bool, line func(T)) {
	write := func(mark byte, l T) {
		out.WriteByte(mark)
		line(l)
	}
	for all := Blocks(gone, come); len(all) > 0; {
		n := 1
		for n < len(all) && all[n].I0-all[n-1].I1 <= 2*Context {
			n++
		}
		first, last := all[0], all[n-1]
		before, after := min(Context, first.I0), min(Context, len(a)-last.I1)
		i, j := first.I0-before, first.J0-before
		fmt.Fprintf(out, "@@ -%s +%s @@\n", span(i, last.I1+after-i), span(j, last.J1+after-j))
		for _, k := range all[:n] {
			for ; i < k.I0; i++ {
				write(' ', a[i])
			}
			for ; i < k.I1; i++ {
				write('-', a[i])
			}
			for j = k.J0; j < k.J1; j++ {
				write('+', b[j])
			}
		}
		for ; i < last.I1+after; i++ {
			write(' ', a[i])
		}
		all = all[n:]
	}
}

// span returns a range of lines as a hunk header has it: of none, the line before it.
func span(start, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}
