package render

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/plain"
	"markmill/render/safe"
)

// CommentLimit is the maximum length of a comment on a forge, in characters.
const CommentLimit = 65536

// DiffMarkdown renders a comparison as at most limit bytes of Markdown. The most important changes come first; the
// last line says what was left out.
func DiffMarkdown(d *diff.Diff, limit int) []byte {
	c := NewComment(limit, "`markmill diff` shows all")
	c.Put(fmt.Sprintf("## %s → %s\n", CodeSpan(d.Old.Name), CodeSpan(d.New.Name)))
	if len(diffview.Sections(d)) == 0 {
		c.Put("\nNo difference.\n")
	}
	c.Diff(d, "###", limit)
	return c.Bytes()
}

// Comment builds Markdown of bounded size for a forge, and counts what did not fit. Text added by CodeSpan, Words
// and Diff can never become markup, a mention, or a workflow command.
type Comment struct {
	b       bytes.Buffer
	room    int // of the whole, less what the last line may take
	whole   string
	order   []string
	entries map[string]int // by section
	details map[string]int
}

// LastLine bounds the line that says what was left out.
const LastLine = 900

// NewComment begins a comment of at most limit bytes. whole says where the complete text can be found.
func NewComment(limit int, whole string) *Comment {
	return &Comment{room: limit - LastLine, whole: whole, entries: map[string]int{}, details: map[string]int{}}
}

// CodeSpan formats text as inline code of bounded length.
func CodeSpan(text string) string {
	return safe.CodeSpan(unheard(plain.Escape(safe.HeadOf(cmp.Or(text, " "), 300))))
}

// Words escapes text for use within a line of Markdown.
func Words(text string) string { return quiet(safe.Inline(plain.Escape(text))) }

// htmlWords leaves what quiet added, and takes links from a reader of Markdown.
var htmlWords = strings.NewReplacer("&amp;#8203;", "&#8203;", "[", "&#91;", "]", "&#93;")

// HTML escapes text for use in HTML within Markdown.
func HTML(text string) string {
	return htmlWords.Replace(safe.HTML(quiet(plain.Escape(text))))
}

// FenceLines writes lines as a fenced block.
func FenceLines(b *bytes.Buffer, info, text string) {
	var clean strings.Builder
	for line := range strings.Lines(text) {
		clean.WriteString(unheard(plain.Escape(strings.TrimRight(line, "\r\n"))) + "\n")
	}
	safe.Fence(b, info, clean.String())
}

// quiet keeps a forge from seeing mentions, issue references and links in words. It breaks each with a zero-width
// space.
func quiet(text string) string {
	const apart = "&#8203;"
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		switch rest := text[i+1:]; text[i] {
		case '@', '#':
			b.WriteString(apart)
		case ':':
			if strings.HasPrefix(rest, "//") {
				b.WriteString(apart)
			}
		case 'w', 'W':
			if strings.HasPrefix(rest, ".") && i > 1 && strings.EqualFold(text[i-2:i+1], "www") {
				b.WriteString(apart)
			}
		case '-':
			if i > 1 && rest != "" && rest[0] >= '0' && rest[0] <= '9' &&
				(strings.EqualFold(text[i-2:i], "gh") || text[i-1] >= 'A' && text[i-1] <= 'Z') {
				b.WriteString(apart) // GH-1, and the keys of trackers
			}
		}
	}
	return b.String()
}

// unheard keeps a workflow log from taking a line for a command. GitHub's commands begin a line with two colons, or
// follow ##[ anywhere.
func unheard(line string) string {
	if body := strings.TrimLeft(line, " \t"); strings.HasPrefix(body, "::") {
		line = line[:len(line)-len(body)] + `\x3a` + body[1:]
	}
	return strings.ReplaceAll(line, "##[", `\x23#[`)
}

// Put appends Markdown if it fits.
func (c *Comment) Put(text string) bool {
	if c.b.Len()+len(text) > c.room {
		return false
	}
	c.b.WriteString(text)
	return true
}

// Join counts what another part of the comment had no room for.
func (c *Comment) Join(part *Comment) {
	for _, section := range part.order {
		for range part.entries[section] {
			c.count(c.entries, section)
		}
		for range part.details[section] {
			c.count(c.details, section)
		}
	}
}

// Text returns the Markdown so far.
func (c *Comment) Text() []byte { return c.b.Bytes() }

// Left returns how many bytes still fit.
func (c *Comment) Left() int { return c.room - c.b.Len() }

// Omit counts an entry of a section that did not fit.
func (c *Comment) Omit(section string) { c.count(c.entries, section) }

func (c *Comment) count(in map[string]int, section string) {
	if c.entries[section]+c.details[section] == 0 {
		c.order = append(c.order, section)
	}
	in[section]++
}

// Bytes returns the comment, ending with the line that says what was left out.
func (c *Comment) Bytes() []byte {
	if len(c.order) == 0 {
		return c.b.Bytes()
	}
	var parts []string
	for _, section := range c.order {
		if n := c.entries[section]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", plain.Counted(n, "entry"), section))
		}
		if n := c.details[section]; n > 0 {
			parts = append(parts, fmt.Sprintf("the text of %s of %s", plain.Counted(n, "entry"), section))
		}
	}
	return fmt.Appendf(bytes.Clone(c.b.Bytes()), "\n… left out, because a comment is bounded: %s. %s.\n",
		strings.ReplaceAll(strings.Join(parts, ", "), "entrys", "entries"), c.whole)
}

// Diff appends a comparison, using at most the given number of bytes.
func (c *Comment) Diff(d *diff.Diff, heading string, most int) {
	c.Sections(diffview.Sections(d), heading, most)
}

// Sections appends sections of a comparison, using at most the given number of bytes.
func (c *Comment) Sections(sections []diffview.Section, heading string, most int) {
	room := c.room
	c.room = min(room, c.b.Len()+most)
	for i := range sections {
		c.section(&sections[i], heading)
	}
	c.room = room
}

func (c *Comment) section(s *diffview.Section, heading string) {
	if s.Name == diffview.Status {
		e := s.Entries[0]
		if !c.Put(fmt.Sprintf("\n%s **status: %s**\n", e.Sign, Words(e.Words))) {
			c.Omit(s.Name)
		}
		return
	}
	head := "\n" + heading + " " + s.Name
	if s.Words != "" {
		head += " · " + s.Words
	}
	if !c.Put(head + "\n\n") {
		for range s.Entries {
			c.Omit(s.Name)
		}
		return
	}
	// All entries get their line first, so that a long text displaces none; then come the texts that fit.
	lines := make([]string, len(s.Entries))
	size := 0
	for i := range s.Entries {
		lines[i] = entryLine(&s.Entries[i])
		size += len(lines[i])
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		if !c.Put(lines[i]) {
			c.Omit(s.Name)
			continue
		}
		size -= len(lines[i])
		if len(e.Lines) == 0 {
			continue
		}
		if text := entryText(e); c.b.Len()+len(text)+min(size, c.room/4) <= c.room {
			c.b.WriteString(text)
		} else {
			c.count(c.details, s.Name)
		}
	}
}

// entryLine returns an entry as a line of a list.
func entryLine(e *diffview.Entry) string {
	sign := e.Sign
	if sign == "+" || sign == "-" { // by themselves they would begin a list
		sign = "\\" + sign
	}
	line := "- " + sign + " " + CodeSpan(e.Subject)
	if e.Words != "" {
		line += ": " + Words(e.Words)
	}
	return line + "\n"
}

// entryText formats the changed lines of an entry, folded in its list item.
func entryText(e *diffview.Entry) string {
	var text, b bytes.Buffer
	for _, l := range e.Lines {
		text.WriteString(unheard(plain.Escape(l)) + "\n")
	}
	safe.Fence(&b, "diff", text.String())
	var out strings.Builder
	out.WriteString("\n  <details><summary>lines</summary>\n\n")
	for line := range strings.Lines(strings.TrimRight(b.String(), "\n") + "\n") {
		if line != "\n" {
			out.WriteString("  ")
		}
		out.WriteString(line)
	}
	out.WriteString("\n  </details>\n\n")
	return out.String()
}
