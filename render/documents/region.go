package documents

import (
	"net/url"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/result"
	"markmill/runs"
)

// partKind is the kind of a part.
type partKind int

const (
	partWords   partKind = iota // Markdown that is none of the others
	partSummary                 // the line that folds the rest, or stands alone where there is nothing to fold
	partScrap                   // the JSON of a scrap that is shown
	partFence
	partPicture
)

// part is a piece of a region's body, as package render writes it (render/region.go).
type part struct {
	kind   partKind
	class  string // of a fence: output, tests, result, error, diff, scraps
	text   string // the JSON of a scrap, the inside of a fence, else the lines
	page   string // of a fence: all of its lines
	elided string // of a fence: the line of text that says what is elided
}

// parts splits the body of a region. A fence whose middle is elided is one part.
func parts(body string) []part {
	lines := strings.SplitAfter(body, "\n")
	var out []part
	var words strings.Builder
	add := func(p part) {
		if words.Len() > 0 {
			out = append(out, part{kind: partWords, text: words.String()})
			words.Reset()
		}
		out = append(out, p)
	}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\n")
		scrap, isScrap := scrapComment(line)
		switch {
		case isSummary(line):
			add(part{kind: partSummary})
		case isScrap:
			add(part{kind: partScrap, text: scrap})
		case line == "</details>":
		case strings.HasPrefix(line, "```"):
			p, next := readFence(lines, i)
			add(p)
			i = next - 1
		case strings.HasPrefix(line, "!["):
			add(part{kind: partPicture, text: line})
		default:
			words.WriteString(line + "\n")
		}
	}
	add(part{kind: partSummary}) // adds the last words
	return out[:len(out)-1]
}

// isSummary reports whether a line is the summary of a region.
func isSummary(line string) bool {
	return strings.HasPrefix(line, "<details") && strings.Contains(line, "<summary>") ||
		strings.HasPrefix(line, "<sub>") && strings.HasSuffix(line, "</sub>")
}

// scrapComment returns the JSON of a scrap that is shown.
func scrapComment(line string) (text string, ok bool) {
	if text, ok = strings.CutPrefix(line, render.ScrapComment); ok {
		text, ok = strings.CutSuffix(text, render.ScrapCommentEnd)
	}
	return text, ok
}

// readFence reads the fenced block that begins at a line. If its middle is elided, it includes the second half.
func readFence(lines []string, from int) (p part, next int) {
	info, text, next := fenceAt(lines, from)
	_, class, _ := strings.Cut(info, "{.")
	p = part{kind: partFence, class: strings.TrimSuffix(class, "}"), text: text}
	if at := nextLine(lines, next); at < len(lines) && isElision(lines[at]) {
		p.text, p.elided, next = text+lines[at], lines[at], at+1
		if at = nextLine(lines, next); at < len(lines) && strings.HasPrefix(lines[at], "```") {
			if other, rest, end := fenceAt(lines, at); other == info {
				p.text, next = p.text+rest, end
			}
		}
	}
	p.page = strings.Join(lines[from:next], "")
	return p, next
}

// fenceAt reads the fence that begins at a line; next is the line after it.
func fenceAt(lines []string, from int) (info, text string, next int) {
	open := strings.TrimRight(lines[from], "\n")
	info = strings.TrimLeft(open, "`")
	ticks := open[:len(open)-len(info)]
	for next = from + 1; next < len(lines); next++ {
		if strings.TrimRight(lines[next], "\n") == ticks {
			return info, strings.Join(lines[from+1:next], ""), next + 1
		}
	}
	return info, strings.Join(lines[from+1:], ""), next
}

// nextLine returns the first line from there on that is not empty.
func nextLine(lines []string, at int) int {
	for at < len(lines) && strings.TrimRight(lines[at], "\n") == "" {
		at++
	}
	return at
}

// isElision reports whether a line says what is missing in a block.
func isElision(line string) bool {
	return strings.HasPrefix(line, "… ") && strings.Contains(line, " elided: ")
}

// readRegion reads the outputs, scraps and patches of a step.
func readRegion(c *diff.Cell, body string, files Files) {
	display := func(mime, text string) {
		c.Outputs = append(c.Outputs, diff.Output{Name: diff.Display, Data: []diff.Datum{{MIME: mime, Text: text}}})
	}
	stream := func(name, text string) {
		c.Outputs = append(c.Outputs, diff.Output{Name: name, Data: []diff.Datum{{MIME: "text/plain", Text: text}}})
	}
	ofScrap := false // what stands here shows a scrap, whose value is read already
	for _, p := range parts(body) {
		switch {
		case p.kind == partSummary:
			ofScrap = false
		case p.kind == partScrap:
			ofScrap = true
			c.Scraps = append(c.Scraps, readScraps(p.text)...)
		case ofScrap:
		case p.kind == partPicture:
			if alt, to, ok := readPicture(p.text); ok {
				c.Outputs = append(c.Outputs, picture(alt, to, files))
			}
		case p.kind == partWords:
			readWords(p.text, display)
		case p.class == "output", p.class == "tests", p.class == "turn":
			stream(diff.Stdout, p.text)
		case p.class == "error":
			stream(diff.Stderr, p.text)
		case p.class == "result":
			display("text/plain", p.text)
		case p.class == "diff":
			c.Files = append(c.Files, PatchFiles(p.text)...)
		case p.class == "scraps":
			c.Scraps = append(c.Scraps, readScraps(p.text)...)
		}
	}
}

// readWords reads results in Markdown, and references to results in the record.
func readWords(text string, display func(mime, text string)) {
	var page strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "Picture ("), strings.HasPrefix(line, "Result ("):
			mime, _, _ := strings.Cut(line[strings.IndexByte(line, '(')+1:], ")")
			display(mime, line)
		case strings.HasPrefix(line, "… "), strings.HasPrefix(line, "Output not kept"),
			strings.HasPrefix(line, "Output hidden"),
			strings.HasPrefix(line, "Hidden characters"), line == "No output.\n":
		default:
			page.WriteString(line)
		}
	}
	if text := strings.Trim(page.String(), "\n"); text != "" {
		display("text/markdown", text+"\n")
	}
}

// setResult sets how a step ended. s is nil if that is unknown.
func setResult(c *diff.Cell, s *notebooks.ManifestStep) {
	if s == nil {
		return
	}
	c.Status = s.Status
	switch {
	case s.Tolerated():
		c.Status = string(runs.StepAllowed)
	case s.Interrupted:
		c.Status = string(runs.StepFailed)
	}
	if c.Words = result.Line(s); c.Words == "exit 0" {
		c.Words = ""
	}
	if s.Tests != nil {
		c.Tests = &diff.Tests{Passed: s.Tests.Passed, Failed: s.Tests.Failed, Skipped: s.Tests.Skipped,
			From: s.Tests.From}
	}
}

// readScraps reads the JSON of a scraps block.
func readScraps(text string) []diff.Scrap {
	var out []diff.Scrap
	for _, m := range ipynb.Members(ipynb.Value{Raw: codec.Raw(text)}) {
		out = append(out, scrapOf(m.Name, m.Raw))
	}
	return out
}

// scrapOf reads one value of a scraps block. A file is represented by its name and digest.
func scrapOf(name string, v codec.Raw) diff.Scrap {
	var file struct {
		File   string `json:"file"`
		MIME   string `json:"mime"`
		Digest string `json:"digest"`
	}
	if len(v) > 0 && v[0] == '{' && codec.Unmarshal(v, &file) == nil && strings.HasPrefix(file.Digest, "sha256:") {
		return diff.Scrap{Name: name, Type: "file", File: file.File, MIME: file.MIME, Digest: file.Digest}
	}
	return diff.Scrap{Name: name, Type: "json", Value: canonical(v)}
}

// readPicture reads "![alt](path)".
func readPicture(line string) (alt, to string, ok bool) {
	at := strings.LastIndex(line, "](")
	if at < 0 || !strings.HasSuffix(line, ")") {
		return "", "", false
	}
	to, err := url.PathUnescape(line[at+2 : len(line)-1])
	return line[2:at], to, err == nil
}

// picture returns a picture beside an output notebook: its content if available, else its name without the folder,
// which is named after the output notebook.
func picture(alt, to string, files Files) diff.Output {
	d := diff.Datum{MIME: pictureType(to), File: to[strings.LastIndexByte(to, '/')+1:]}
	if files != nil {
		if data, err := files(to); err == nil {
			d.Bytes, d.Digest = data, region.DigestOf(data)
		}
	}
	words := diff.Field{Name: "alt", Value: codec.RawOf(alt), Volatile: true}
	return diff.Output{Name: diff.Display, Data: []diff.Datum{d}, Options: []diff.Field{words}}
}

// pictureType returns the media type of a picture by the name of its file.
func pictureType(name string) string {
	switch mime := "image/" + strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]); mime {
	case "image/jpg":
		return "image/jpeg"
	case "image/svg":
		return "image/svg+xml"
	default:
		return mime
	}
}

// PatchFiles reads a Git patch. Lines before the first file header (the patch was cut) belong to a file without a
// path.
func PatchFiles(text string) []diff.FilePatch {
	var out []diff.FilePatch
	var f *diff.FilePatch
	inHunk := false
	next := func(file diff.FilePatch) {
		out = append(out, file)
		f, inHunk = &out[len(out)-1], false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if names, ok := strings.CutPrefix(line, "diff --git "); ok {
			next(diff.FilePatch{Path: diff.PatchPath(names), Status: "modified"})
			continue
		}
		if f == nil {
			next(diff.FilePatch{})
			inHunk = true
		}
		if strings.HasPrefix(line, "@@") {
			inHunk = true
		}
		if inHunk {
			f.Lines = append(f.Lines, line)
			continue
		}
		switch {
		case strings.HasPrefix(line, "new file mode "):
			f.Status = "added"
		case strings.HasPrefix(line, "deleted file mode "):
			f.Status = "deleted"
		case strings.HasPrefix(line, "rename from "):
			f.Status, f.From = "renamed", strings.TrimPrefix(line, "rename from ")
		case strings.HasPrefix(line, "new mode "):
			f.Status = "mode"
		case strings.HasPrefix(line, "+++ b/"):
			f.Path = strings.TrimRight(strings.TrimPrefix(line, "+++ b/"), "\t")
		case strings.HasPrefix(line, "Binary file "), line == "GIT binary patch":
			f.Digest = "binary"
		case isElision(line): // what follows may be in the middle of a hunk
			f.Lines, inHunk = append(f.Lines, line), true
		case strings.HasPrefix(line, "index "):
			if _, blob, ok := strings.Cut(line, ".."); ok {
				blob, _, _ = strings.Cut(blob, " ")
				f.Digest = blob
			}
		}
	}
	for i := range out { // the name of the new content says more than the lines only where there are none
		if len(out[i].Lines) > 0 {
			out[i].Digest = ""
		}
	}
	return out
}
