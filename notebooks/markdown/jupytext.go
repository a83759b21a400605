package markdown

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
	"markmill/notebooks/magics"
)

// Jupytext Markdown writes a cell as python Title .class tags=["parameters"] key=JSON. Every key is cell metadata, of
// whatever tool, so an unknown one is left alone.

var jupytextSyntax = syntax{
	form: notebooks.FormJupytext,
	info: func(in *info, h head) bool {
		if h.rest == "" {
			return false
		}
		in.readJupytext(h.rest, h.restAt)
		return true
	},
	runs: func(r *parser, f *blocks.Fence, in *info) bool {
		if r.header.jupytext {
			return r.jupytextCell(f, in)
		}
		tags, _ := in.attr("tags")
		return len(tags.words()) > 0 && !notebooks.IsData(in.lang) || in.isNamed() && notebooks.IsLanguage(in.lang)
	},
}

func (in *info) readJupytext(text string, base int) {
	t := tokens{text: text}
	for {
		t.skip(" \t")
		if t.done() {
			return
		}
		at := base + t.pos
		if t.peek() == '.' {
			t.pos++
			if tag := t.until(" \t"); tag != "" {
				in.tags = append(in.tags, mark{tag, at + 1})
			}
			continue
		}
		key := t.until(" \t=")
		if t.done() || t.peek() != '=' || key == "" {
			if key == "" {
				t.pos++
			}
			in.bare = append(in.bare, mark{key, at}) // a title, which is prose
			continue
		}
		t.pos++
		in.attrs = append(in.attrs, jsonAttr(key, t.bracketed(" \t"), at))
	}
}

// jsonAttr reads a value as JSON; anything else is text.
func jsonAttr(key, text string, at int) attr {
	a := attr{key: key, val: text, at: at}
	var value any
	if codec.Unmarshal([]byte(text), &value) != nil {
		return a
	}
	a.set(value)
	return a
}

// set takes a value of JSON. Scalars that are not text keep the spelling that the attribute has.
func (a *attr) set(value any) {
	switch v := value.(type) {
	case string:
		a.val = v
	case []any:
		a.list = []string{}
		for _, item := range v {
			a.list = append(a.list, fmt.Sprint(item))
		}
	case map[string]any:
		a.list = []string{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			a.list = append(a.list, name+"="+fmt.Sprint(v[name]))
		}
	}
}

// jupytextCell reports whether a fence of a notebook with a Jupytext header is a code cell: by its language alone,
// unless it is marked as not to be run.
func (r *parser) jupytextCell(f *blocks.Fence, in *info) bool {
	// the kernel's, where Jupytext does not know it
	own := in.lang != "" && in.lang == r.header.lang && !notebooks.IsCellLanguage(in.lang)
	if !r.header.jupytext || !own && !notebooks.IsCellLanguage(in.word) {
		return false
	}
	return !in.hasTag("noeval") && !r.inTextCell(f.Span.Start) && in.active()
}

// active reports whether a cell is code in a notebook: Jupytext's active= names the files in which it is.
func (in *info) active() bool {
	active, ok := in.attr("active")
	return !ok || strings.Contains(active.val, "ipynb") || strings.Contains(active.val, "py")
}

// UncommentMagics restores the IPython commands that Jupytext commented out in the code of a cell.
func UncommentMagics(code, lang string, which magics.Which) string {
	syntax := notebooks.LanguageNamed(lang)
	lines := strings.Split(code, "\n")
	magics.Uncomment(lines, lang, syntax.Comment, syntax.Strings(), which)
	return strings.Join(lines, "\n")
}

// inTextCell reports whether an offset is in a Markdown or raw cell that its author marked with
// <!-- #region --> … <!-- #endregion -->: a fence in it is an example.
func (r *parser) inTextCell(offset int) bool {
	i := sort.Search(len(r.textCells), func(i int) bool { return r.textCells[i].End > offset })
	return i < len(r.textCells) && r.textCells[i].Start <= offset
}

// findTextCells lists the cells for inTextCell.
func findTextCells(src []byte, markups []blocks.Markup) []notebooks.Span {
	var cells []notebooks.Span
	for _, m := range markups {
		if !m.Comment {
			continue
		}
		text := bytes.TrimLeft(src[m.Span.Start:m.Span.End], " \t<!-")
		switch {
		case hasAnyPrefix(text, "#region", "#md", "#markdown", "#raw"):
			if n := len(cells); n == 0 || cells[n-1].End != len(src) {
				cells = append(cells, notebooks.Span{Start: m.Span.Start, End: len(src)})
			}
		case hasAnyPrefix(text, "#endregion", "#endmd", "#endmarkdown", "#endraw"):
			if n := len(cells); n > 0 && cells[n-1].End == len(src) {
				cells[n-1].End = m.Span.End
			}
		}
	}
	return cells
}

func hasAnyPrefix(text []byte, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(text, []byte(p)) })
}

// CommentMagics comments them out: UncommentMagics undoes it.
func CommentMagics(code, lang string) string {
	syntax := notebooks.LanguageNamed(lang)
	lines := strings.Split(code, "\n")
	magics.Comment(lines, lang, syntax.Comment, syntax.Strings())
	return strings.Join(lines, "\n")
}
