package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmtext "github.com/yuin/goldmark/text"

	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// results writes the results of a step in order: pictures, tables, Markdown and other text, each once. Displayed
// scraps come last, each after a comment that holds its value for programs.
func (r *stepRegion) results(pics []picture) error {
	left := map[string]picture{}
	for _, p := range pics {
		if !p.scrap {
			left[p.from] = p
		}
	}
	displays := r.rec.Finished.Displays
	for i, d := range displays {
		if extensions[d.MIME] != "" {
			if p, found := left[d.File]; found {
				r.picture(p)
				delete(left, d.File)
			}
			continue
		}
		if r.left <= 0 {
			fmt.Fprintf(r, "… %s elided: %s\n\n", plain.Counted(len(displays)-i, "result"), r.whereabouts())
			break
		}
		r.left -= resultBytes
		if err := r.display(d); err != nil {
			return err
		}
	}
	return r.shownScraps(pics)
}

// display writes one result that is no picture.
func (r *stepRegion) display(d runs.DisplayData) error {
	room := max(r.left, resultBytes)
	if (d.MIME == "text/html" || d.MIME == "text/markdown") && d.File != "" {
		page, err := r.page(d, room)
		if err != nil {
			return err
		}
		if page != "" {
			r.WriteString(page + "\n")
			r.left -= len(page)
			return nil
		}
	}
	switch readable := d.MIME != "text/html" && (strings.HasPrefix(d.MIME, "text/") || d.MIME == "application/json"); {
	case readable && d.File != "":
		shown, err := r.stream(&r.Buffer, "text {.result}", runs.StreamData{File: d.File,
			Bytes: d.Bytes, Digest: d.Digest},
			room)
		if err != nil {
			return err
		}
		r.left -= len(shown)
	case d.Alt != "":
		e := safe.CutText(r.clean.Text(safe.WithoutAddress(d.Alt)), room)
		safe.WriteExcerpt(&r.Buffer, "text {.result}", e, d.File, d.Digest)
		r.left -= e.Size()
	default:
		fmt.Fprintf(r, "Result (%s): %s\n\n", safe.Inline(plain.Escape(d.MIME)), safe.CodeSpan(plain.Escape(d.File)))
	}
	return nil
}

// page converts a result in HTML or Markdown to Markdown that can stand open in the notebook. It returns "" if that
// is not possible, or too long.
func (r *stepRegion) page(d runs.DisplayData, room int) (string, error) {
	const most = 1 << 20 // what is longer is no table for a page
	if d.Bytes > most {
		return "", nil
	}
	raw, err := fs.ReadFile(r.files, d.File)
	if err != nil {
		return "", fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	if d.MIME == "text/html" {
		if page := HTMLTables(raw, r.clean, d.File); len(page) <= room {
			return page, nil
		}
		return "", nil
	}
	c := safe.Cleaner{Names: r.clean.Names, Rules: r.clean.Rules}
	page := strings.Trim(safe.Clean(raw, c.Line), "\n") + "\n"
	if len(page) > room || !harmless(page) {
		return "", nil
	}
	return page, nil
}

// footnote matches a footnote definition, which the author's text could refer to.
var footnote = lazyregexp.New(`\[\^[^\]]+\]:`)

// harmless reports whether Markdown can stand between the author's own: it is self-contained, and has no HTML that
// could hide what follows.
func harmless(page string) bool {
	if strings.TrimSpace(page) == "" || !region.SelfContained([]byte(page)) || footnote.MatchString(page) {
		return false
	}
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(gmtext.NewReader([]byte(page)))
	found := false
	_ = ast.Walk(root, func(n ast.Node, _ bool) (ast.WalkStatus, error) { // the walker makes no error
		found = found || n.Kind() == ast.KindHTMLBlock || n.Kind() == ast.KindRawHTML
		return ast.WalkContinue, nil
	})
	return !found
}

// shownScraps writes the displayed scraps: tables, then pictures.
func (r *stepRegion) shownScraps(pics []picture) error {
	limit, scraps := r.limit, lastScraps(r.rec.Scraps)
	for _, s := range scraps {
		if limit -= len(s.Value); !r.showsTable(s) || limit < 0 {
			continue
		}
		var b bytes.Buffer
		if safe.WriteTable(&b, s, r.clean); b.Len() == 0 {
			continue
		}
		if err := r.scrapComment(s); err != nil {
			return err
		}
		r.Write(b.Bytes())
	}
	for _, p := range pics {
		if !p.scrap {
			continue
		}
		at := slices.IndexFunc(scraps, func(s runs.ScrapData) bool { return s.File == p.from })
		if at >= 0 && p.to != "" {
			if err := r.scrapComment(scraps[at]); err != nil {
				return err
			}
		}
		r.picture(p)
	}
	// A picture that is also a result is not shown again.
	for _, s := range scraps {
		same := func(p picture) bool { return !p.scrap && p.to != "" && p.digest == s.Digest && s.Digest != "" }
		if s.File != "" && s.Display && !r.shown[s.Name] && slices.ContainsFunc(pics, same) {
			if err := r.scrapComment(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// showsTable reports whether a scrap is displayed as a table.
func (r *stepRegion) showsTable(s runs.ScrapData) bool {
	if !s.Display || s.File != "" || s.Type != runs.ScrapTable && s.Type != runs.ScrapJSON {
		return false
	}
	t, ok := safe.ReadTable(s.Value)
	return ok && len(t.Columns) <= safe.MaxColumns
}

// scrapComment writes the value of a displayed scrap, for programs.
func (r *stepRegion) scrapComment(s runs.ScrapData) error {
	line, err := scrapLine(s, r.clean.Names)
	if err != nil {
		return err
	}
	r.shown[s.Name] = true
	line = strings.NewReplacer("--", `-\u002d`, ">", `\u003e`).Replace(line)
	fmt.Fprintf(r, "%s{%s}%s\n\n", ScrapComment, line, ScrapCommentEnd)
	return nil
}

// Delimiters of the value of a displayed scrap.
const (
	ScrapComment    = "<!-- scrap "
	ScrapCommentEnd = " -->"
)
