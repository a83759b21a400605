package html

import (
	"strings"

	"markmill/notebooks/diff"
	"markmill/render/documents"
)

// fileChange is the change of one file in a displayed diff.
type fileChange struct {
	diff.FilePatch
	added, deleted int
}

// readPatch splits a Git diff by files. Text before the first file is dropped.
func readPatch(text string) []fileChange {
	var out []fileChange
	for _, f := range documents.PatchFiles(text) {
		if f.Path == "" {
			continue
		}
		c := fileChange{FilePatch: f}
		for _, line := range f.Lines {
			switch line[:min(1, len(line))] {
			case "+":
				c.added++
			case "-":
				c.deleted++
			}
		}
		out = append(out, c)
	}
	return out
}

// note says what became of a file besides its lines.
func (f *fileChange) note() markup {
	words := ""
	switch f.Status {
	case "added":
		words = "new"
	case "deleted", "renamed":
		words = f.Status
	}
	if f.From != "" {
		words += " from " + f.From
	}
	if f.Digest == "binary" {
		words = strings.TrimSpace(words + " binary")
	}
	return note(words)
}

// Patch renders a patch as it is on pages of notebooks; name says where the whole of a long one is. The result is safe
// on a page.
func Patch(name, text string) string {
	shown, _ := newPage(name, nil).diff(text)
	return focusable(string(shown))
}

// focusable lets keys scroll code on pages of others, which have no script of ours.
func focusable(part string) string { return strings.ReplaceAll(part, "<pre>", `<pre tabindex="0">`) }

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
		if len(f.Lines) > 80 {
			open = ""
		}
		w.put(`<details class="file"%s><summary><code>%s</code>%s%s</summary>`, open, cleanLine(f.Path), f.note(),
			plusMinus(f.added, f.deleted))
		if len(f.Lines) > 0 {
			w.put("<pre>%s</pre>", diffLines(shortLines(strings.Join(f.Lines, "\n"))))
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
