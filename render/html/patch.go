package html

import (
	"strings"

	"markmill/notebooks/diff"
)

// fileChange is the change of one file in a displayed diff.
type fileChange struct {
	path           string
	note           string // renamed, deleted, new, binary
	added, deleted int
	lines          []string // from its first hunk on, or what stands for a binary file
}

// readPatch splits a Git diff by files. Text before the first file is dropped.
func readPatch(text string) []fileChange {
	var out []fileChange
	var f *fileChange
	inHunk := false
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if names, ok := strings.CutPrefix(line, "diff --git "); ok {
			out = append(out, fileChange{path: diff.PatchPath(names)})
			f, inHunk = &out[len(out)-1], false
			continue
		}
		if f == nil {
			continue
		}
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case inHunk && strings.HasPrefix(line, "+"):
			f.added++
		case inHunk && strings.HasPrefix(line, "-"):
			f.deleted++
		case inHunk:
		case strings.HasPrefix(line, "new file"):
			f.note = "new"
			continue
		case strings.HasPrefix(line, "deleted file"):
			f.note = "deleted"
			continue
		case strings.HasPrefix(line, "rename from "):
			f.note = "renamed from " + strings.TrimPrefix(line, "rename from ")
			continue
		case strings.HasPrefix(line, "Binary file"):
			f.note = strings.TrimSpace(f.note + " binary")
		case hasAnyPrefix(line, "index ", "--- ", "+++ ", "rename to ",
			"similarity index ", "old mode ", "new mode ") ||
			line == "":
			continue
		}
		f.lines = append(f.lines, line)
	}
	return out
}

// diff renders a patch by file, with long files folded.
func (p *page) diff(text string) (markup, []fileChange) {
	head, tail, gone := p.budget.cut(text)
	files := readPatch(head)
	if len(files) == 0 {
		return p.code("diff", text), nil
	}
	var w writer
	w.put(`<div class="patch">`)
	for _, f := range files {
		open := markup(" open")
		if len(f.lines) > 80 {
			open = ""
		}
		w.put(`<details class="file"%s><summary><code>%s</code>%s%s</summary>`, open, cleanLine(f.path), note(f.note),
			plusMinus(f.added, f.deleted))
		if len(f.lines) > 0 {
			w.put("<pre>%s</pre>", diffLines(shortLines(strings.Join(f.lines, "\n"))))
		}
		w.put("</details>")
	}
	if gone != "" {
		w.put("%s<pre>%s</pre>", elided(gone, p.where()), diffLines(shortLines(tail)))
	}
	w.put("</div>")
	return w.markup(), files
}

func note(text string) markup {
	if text == "" {
		return ""
	}
	return sprintf(` <span class="tag">%s</span>`, cleanLine(text))
}

func plusMinus(added, deleted int) markup {
	return sprintf(` <span class="pm"><b class="plus">+%d</b> <b class="minus">−%d</b></span>`, added, deleted)
}

// diffLines colors the lines of a diff.
func diffLines(text string) markup {
	var w writer
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		class := markup("dl")
		switch {
		case strings.HasPrefix(line, "+"):
			class = "dl da"
		case strings.HasPrefix(line, "-"):
			class = "dl dd"
		case strings.HasPrefix(line, "@@"):
			class = "dl dh"
		case strings.HasPrefix(line, `\`):
			class = "dl dn"
		}
		w.put(`<span class="%s">%s%s</span>`, class, cleanLines(line), markup("\n"))
	}
	return w.markup()
}
