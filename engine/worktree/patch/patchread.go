package patch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/notebooks/linediff"
)

// File is the change of one path, as read from a patch.
type File struct {
	OldPath, NewPath string     // "" on the side where it does not exist
	OldMode, NewMode uint32     // 0: not said
	oldBlob          object.OID // of a binary patch: what it was made for
	Rename           bool
	Binary           bool
	literal          []byte // of a binary patch: the new content
	hunks            []hunk
}

type hunk struct {
	start    int      // of the old lines, from 0
	old, new [][]byte // with their line ends
}

// Parse reads what this package and `git diff --binary` write. It is no general reader: binary deltas and copies are
// errors.
func Parse(data []byte) ([]File, error) {
	lines := linediff.Split(data)
	var out []File
	for i := 0; i < len(lines); {
		if !bytes.HasPrefix(lines[i], []byte("diff --git ")) {
			return nil, fmt.Errorf("line %d: not the start of a file's change", i+1)
		}
		p, n, err := parseFile(lines[i:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		out = append(out, p)
		i += n
	}
	return out, nil
}

func parseFile(lines [][]byte) (p File, n int, err error) {
	same := headerPath(strings.TrimSuffix(string(lines[0][len("diff --git "):]), "\n"))
	p.OldPath, p.NewPath = same, same
	for n = 1; n < len(lines); n++ {
		line := strings.TrimSuffix(string(lines[n]), "\n")
		word := func(prefix string) bool {
			rest, ok := strings.CutPrefix(line, prefix)
			if ok {
				line = rest
			}
			return ok
		}
		switch {
		case word("old mode "):
			p.OldMode, err = parseMode(line)
		case word("new mode "):
			p.NewMode, err = parseMode(line)
		case word("new file mode "):
			p.OldPath = ""
			p.NewMode, err = parseMode(line)
		case word("deleted file mode "):
			p.NewPath = ""
			p.OldMode, err = parseMode(line)
		case word("rename from "):
			p.Rename = true
			p.OldPath = quote.Plain(line)
		case word("rename to "):
			p.NewPath = quote.Plain(line)
		case word("index "):
			from, _, _ := strings.Cut(line, "..")
			p.oldBlob = object.OID(from)
		case word("similarity index "), word("--- "), word("+++ "):
		case word("GIT binary patch"):
			var used int
			p.Binary = true
			p.literal, used, err = readLiteral(lines[n+1:])
			n += used
			if err == nil && n+1 < len(lines) && bytes.HasPrefix(lines[n+1], []byte("literal ")) {
				_, used, err = readLiteral(lines[n+1:]) // the way back
				n += used
			}
		case word("@@ -"):
			var h hunk
			var used int
			h, used, err = parseHunk(line, lines[n+1:])
			p.hunks = append(p.hunks, h)
			n += used
		case word("diff --git "):
			return p, n, p.named()
		default:
			err = fmt.Errorf("%q is not understood", line)
		}
		if err != nil {
			return p, n, err
		}
	}
	return p, n, p.named()
}

func (p *File) named() error {
	if p.OldPath == "" && p.NewPath == "" {
		return errors.New("the change names no path")
	}
	return nil
}

// headerPath extracts the path from "a/P b/P", if both are the same; a rename has its paths in lines of their own.
func headerPath(text string) string {
	if text != "" && text[0] == '"' {
		p, ok := quote.Unquote(text[:quote.End(text)])
		if !ok {
			return ""
		}
		return strings.TrimPrefix(p, "a/")
	}
	half := len(text) / 2
	if len(text)%2 == 1 && text[half] == ' ' && strings.HasPrefix(text, "a/") && text[2:half] == text[half+3:] {
		return text[2:half]
	}
	return ""
}

func parseMode(text string) (uint32, error) {
	m, err := strconv.ParseUint(text, 8, 32)
	return uint32(m), err
}

// parseHunk reads as many lines as "start,count +start,count @@" announces.
func parseHunk(head string, lines [][]byte) (h hunk, n int, err error) {
	from, rest, ok := strings.Cut(head, " +")
	to, _, ok2 := strings.Cut(rest, " @@")
	start, oldCount, errOld := parseSpan(from)
	_, newCount, errNew := parseSpan(to) // its start follows from the hunks before it
	if !ok || !ok2 || errOld != nil || errNew != nil {
		return h, 0, errors.New("a damaged hunk header")
	}
	h.start = start
	if oldCount > 0 {
		h.start--
	}
	for n < len(lines) && (len(h.old) < oldCount || len(h.new) < newCount) || n < len(lines) && lines[n][0] == '\\' {
		mark, line := lines[n][0], lines[n][1:]
		next := n+1 < len(lines) && lines[n+1][0] == '\\'
		if next {
			line = bytes.TrimSuffix(line, []byte{'\n'})
		}
		switch mark {
		case ' ':
			h.old, h.new = append(h.old, line), append(h.new, line)
		case '-':
			h.old = append(h.old, line)
		case '+':
			h.new = append(h.new, line)
		case '\\':
		default:
			return h, n, errors.New("a hunk that is cut short")
		}
		n++
	}
	if len(h.old) != oldCount || len(h.new) != newCount {
		return h, n, errors.New("a hunk whose lines are not those it promises")
	}
	return h, n, nil
}

func parseSpan(text string) (start, count int, err error) {
	from, n, ok := strings.Cut(text, ",")
	if !ok {
		n = "1"
	}
	x, err := strconv.ParseUint(from, 10, 31)
	y, errCount := strconv.ParseUint(n, 10, 31)
	return int(x), int(y), errors.Join(err, errCount)
}

// ErrConflict means that content is not what a patch was made for.
var ErrConflict = errors.New("the content is not what the patch was made for")

// Apply returns the new content of a file. Lines must be exactly where the patch says.
func (p *File) Apply(old []byte) ([]byte, error) {
	if p.Binary {
		return p.literal, nil
	}
	if len(p.hunks) == 0 {
		return old, nil
	}
	a := linediff.Split(old)
	out := make([]byte, 0, len(old))
	add := func(lines [][]byte) {
		for _, line := range lines {
			out = append(out, line...)
		}
	}
	i := 0
	for _, h := range p.hunks {
		if h.start < i || h.start+len(h.old) > len(a) {
			return nil, ErrConflict
		}
		end := h.start + len(h.old)
		if !slices.EqualFunc(a[h.start:end], h.old, bytes.Equal) {
			return nil, ErrConflict
		}
		add(a[i:h.start])
		add(h.new)
		i = end
	}
	add(a[i:])
	return out, nil
}

// State is what stands at a path: a file's content, a link's target, or a submodule's line; nothing when Mode is 0.
type State struct {
	Mode uint32
	Data []byte
}

// On returns what the new path holds when the change is made to the state of the old path, the zero state for a change
// without one. A state that the change was not made for is ErrConflict.
func (p *File) On(was State) (State, error) {
	if p.OldPath != "" && (was.Mode == 0 || p.Binary && !p.madeFor(was.Data)) {
		return State{}, ErrConflict
	}
	data, err := p.Apply(was.Data)
	if err != nil {
		return State{}, err
	}
	if p.NewPath != "" {
		return State{cmp.Or(p.NewMode, was.Mode), data}, nil
	}
	if len(data) > 0 {
		return State{}, ErrConflict
	}
	return State{}, nil
}

// Goes reports whether nothing is left at the old path.
func (p *File) Goes() bool { return p.OldPath != "" && (p.NewPath == "" || p.Rename) }

// madeFor reports whether a binary patch replaces this content.
func (p *File) madeFor(old []byte) bool {
	f := object.SHA1
	if len(p.oldBlob) > 2*f.Size {
		f = object.SHA256
	}
	return f.OID(f.Sum("blob", old)) == p.oldBlob
}

// Verify reads the patch of one path back, applies it in memory, and compares paths, modes and content.
func (d *Delta) Verify(section, old, new []byte) error {
	parts, err := Parse(section)
	if err != nil {
		return &Error{d.Path, "its patch cannot be read back: " + err.Error()}
	}
	want := d.split()
	right := len(parts) == len(want)
	for i := 0; i < len(want) && right; i++ {
		p, w := &parts[i], want[i]
		from, to, was, is := cmp.Or(w.From, w.Path), w.Path, old, new
		if w.Old.Mode == 0 {
			from, was = "", nil
		}
		if w.New.Mode == 0 {
			to, is = "", nil
		}
		got, err := p.Apply(was)
		right = err == nil && bytes.Equal(got, is) && p.OldPath == from && p.NewPath == to &&
			(to != "" || p.OldMode == w.Old.Mode) && (to == "" || w.Old.Mode == w.New.Mode || p.NewMode == w.New.Mode)
	}
	if !right {
		return &Error{d.Path, "its patch does not give the new content"}
	}
	return nil
}
