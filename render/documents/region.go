package documents

import (
	"html"
	"net/url"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/lazyregexp"
	"markmill/render"
	"markmill/runs"
)

// readRegion reads what package render wrote of a step (render/region.go): results, a summary, and blocks. open says
// that results may stand there as Markdown, as they do from format 2 of the manifest on.
func readRegion(c *diff.Cell, body string, open bool, files Files) {
	lines := strings.SplitAfter(body, "\n")
	var page strings.Builder // results in Markdown
	flush := func() {
		if text := strings.Trim(page.String(), "\n"); text != "" && open {
			c.Outputs = append(c.Outputs, diff.Output{Name: diff.Display, Data: []diff.Datum{{MIME: "text/markdown", Text: text + "\n"}}})
		}
		page.Reset()
	}
	defer flush()
	ofScrap := false // what stands here shows a scrap, whose value is read already
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\n")
		summary, isSummary := summaryOf(line)
		if isSummary {
			flush()
			ofScrap = false
			readSummary(c, summary)
			continue
		}
		if text, ok := scrapComment(line); ok {
			flush()
			ofScrap = true
			c.Scraps = append(c.Scraps, readScraps(text)...)
			continue
		}
		if ofScrap || line == "</details>" {
			continue
		}
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			info, text, next := readFence(lines, i)
			readBlock(c, info, text, elision(lines, next))
			i = next - 1
		case strings.HasPrefix(line, "!["):
			flush()
			if alt, to, ok := readPicture(line); ok {
				c.Outputs = append(c.Outputs, picture(alt, to, files))
			}
		case strings.HasPrefix(line, "Picture ("), strings.HasPrefix(line, "Result ("):
			mime, _, _ := strings.Cut(line[strings.IndexByte(line, '(')+1:], ")")
			c.Outputs = append(c.Outputs, diff.Output{Name: diff.Display, Data: []diff.Datum{{MIME: mime, Text: line + "\n"}}})
		case strings.HasPrefix(line, "… "), strings.HasPrefix(line, "Output not kept"), strings.HasPrefix(line, "Output hidden"),
			strings.HasPrefix(line, "Hidden characters"), line == "No output.":
		default:
			page.WriteString(line + "\n")
		}
	}
}

// summaryOf finds the line that sums a step up: it folds the rest, or stands alone where there is nothing to fold. What the step broke
// is not in it: the manifest has that.
func summaryOf(line string) (text string, ok bool) {
	if _, text, ok = strings.Cut(line, "<summary>"); ok && strings.HasPrefix(line, "<details") {
		text, _, _ = strings.Cut(text, "</summary>")
	} else if text, ok = strings.CutPrefix(line, "<sub>"); ok {
		text, ok = strings.CutSuffix(text, "</sub>")
	}
	text, _, _ = strings.Cut(text, " · <strong>")
	return text, ok
}

// scrapComment is the JSON of a scrap that is shown.
func scrapComment(line string) (text string, ok bool) {
	if text, ok = strings.CutPrefix(line, render.ScrapComment); ok {
		text, ok = strings.CutSuffix(text, render.ScrapCommentEnd)
	}
	return text, ok
}

// ofManifest sets what the manifest says of a step.
func ofManifest(c *diff.Cell, m *notebooks.Manifest) {
	for i := range m.Steps {
		s := &m.Steps[i]
		if string(s.ID) != c.Label {
			continue
		}
		c.Status = s.Status
		if s.Tolerated() {
			c.Status = string(runs.StepAllowed)
		}
		if s.Tests != nil {
			c.Tests = &diff.Tests{Passed: s.Tests.Passed, Failed: s.Tests.Failed, Skipped: s.Tests.Skipped}
		}
	}
}

var (
	testWords   = lazyregexp.New(`^(\d+) passed(?:, (\d+) failed)?(?:, (\d+) skipped)?$`)
	changeWords = lazyregexp.New(`^[\d,]+ files? \+\d+ −\d+$`)
)

// readSummary reads "✓ <code>id</code> · exit 0 · 3 passed · 1 file +1 −1".
func readSummary(c *diff.Cell, text string) {
	head, rest, _ := strings.Cut(text, "</code>")
	mark, _, _ := strings.Cut(head, " ")
	var words []string
	for _, w := range strings.Split(strings.TrimPrefix(rest, " · "), " · ") {
		w = html.UnescapeString(w)
		if m := testWords.FindStringSubmatch(w); m != nil {
			c.Tests = &diff.Tests{Passed: atoi(m[1]), Failed: atoi(m[2]), Skipped: atoi(m[3])}
		} else if w != "" && !changeWords.MatchString(w) {
			words = append(words, w)
		}
	}
	setVerdict(c, mark, strings.Join(words, " · "))
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// setVerdict sets the status and the words of a step of the sign and the words that package render has for them.
func setVerdict(c *diff.Cell, mark, words string) {
	c.Words = words
	switch mark {
	case "✓":
		c.Status = "pass"
		if strings.Contains(words, ", allowed") || strings.Contains(words, ", as expected") {
			c.Status = "allowed"
		}
		if words == "exit 0" {
			c.Words = ""
		}
	case "✗":
		c.Status = "fail"
	case "⏱":
		c.Status = "timeout"
	case "○":
		c.Status = "skip"
		if words == "not reached" {
			c.Status = "pending"
		}
	}
}

// readFence reads a fenced block that begins at line i; next is the line after it.
func readFence(lines []string, i int) (info, text string, next int) {
	open := strings.TrimRight(lines[i], "\n")
	info = strings.TrimLeft(open, "`")
	ticks := open[:len(open)-len(info)]
	var b strings.Builder
	for i++; i < len(lines); i++ {
		if strings.TrimRight(lines[i], "\n") == ticks {
			return info, b.String(), i + 1
		}
		b.WriteString(lines[i])
	}
	return info, b.String(), i
}

// elision is the line that says what is missing after a block, "" where nothing is.
func elision(lines []string, at int) string {
	for ; at < len(lines); at++ {
		line := strings.TrimRight(lines[at], "\n")
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "… ") && strings.Contains(line, " elided: ") {
			return line + "\n"
		}
		return ""
	}
	return ""
}

// readBlock takes in one fenced block. A block that follows the elision of one with the same name is its end.
func readBlock(c *diff.Cell, info, text, elided string) {
	_, class, _ := strings.Cut(info, "{.")
	class = strings.TrimSuffix(class, "}")
	output := func(name, mime string) {
		if n := len(c.Outputs); n > 0 && c.Outputs[n-1].Name == name && endsElided(c.Outputs[n-1].Data[0].Text) {
			c.Outputs[n-1].Data[0].Text += text
			return
		}
		c.Outputs = append(c.Outputs, diff.Output{Name: name, Data: []diff.Datum{{MIME: mime, Text: text + elided}}})
	}
	switch class {
	case "output", "tests":
		output(diff.Stdout, "text/plain")
	case "result":
		output(diff.Display, "text/plain")
	case "error":
		output(diff.Stderr, "text/plain")
	case "diff":
		if n := len(c.Files); n > 0 && len(c.Files[n-1].Lines) > 0 && endsElided(c.Files[n-1].Lines[len(c.Files[n-1].Lines)-1]+"\n") {
			last := &c.Files[n-1]
			rest := PatchFiles(text)
			if len(rest) > 0 && rest[0].Path == "" {
				last.Lines = append(last.Lines, rest[0].Lines...)
				rest = rest[1:]
			}
			c.Files = append(c.Files, rest...)
			return
		}
		c.Files = append(c.Files, PatchFiles(text+elided)...)
	case "scraps":
		c.Scraps = append(c.Scraps, readScraps(text)...)
	}
}

func endsElided(text string) bool {
	last := text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
	return strings.HasPrefix(last, "… ") && strings.Contains(last, " elided: ")
}

// readScraps reads the JSON of a scraps block.
func readScraps(text string) []diff.Scrap {
	var out []diff.Scrap
	cur := codec.NewCursor([]byte(text), 0)
	_, err := cur.Object(func(name []byte, _ codec.Span) error {
		at, err := cur.Skip()
		if err != nil {
			return err
		}
		out = append(out, scrapOf(string(name), codec.Raw(at.Of([]byte(text)))))
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// scrapOf reads one value of a scraps block: a file stands there as its name and digest.
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

// picture is a picture that stands beside an output notebook: its bytes where they can be had, else its name without
// the folder, which is called after the output notebook.
func picture(alt, to string, files Files) diff.Output {
	d := diff.Datum{MIME: pictureType(to), File: to[strings.LastIndexByte(to, '/')+1:]}
	if files != nil {
		if data, err := files(to); err == nil {
			d.Bytes, d.Digest = data, notebooks.DigestOf(data)
		}
	}
	return diff.Output{Name: diff.Display, Data: []diff.Datum{d}, Options: []diff.Field{{Name: "alt", Value: value(alt), Volatile: true}}}
}

// pictureType is the media type of a picture by the name of its file.
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
