package view

import (
	"bufio"
	"bytes"
	"html"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"markmill/render/plain"
)

// Fold holds what a reader unfolds: the blocks between <details> and </details>.
type Fold struct {
	ast.BaseBlock
	Title string
	Open  bool
}

// KindFold is the kind of Fold.
var KindFold = ast.NewNodeKind("Fold")

// Kind implements ast.Node.
func (*Fold) Kind() ast.NodeKind { return KindFold }

// Dump implements ast.Node.
func (f *Fold) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// Parse reads a document. Folds are Fold nodes, and comments are gone: no HTML is left in the tree.
func Parse(doc []byte) ast.Node {
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(doc))
	nest(root, doc)
	return root
}

// nest moves what stands between <details> and </details> into a Fold, and removes all other HTML.
func nest(parent ast.Node, src []byte) {
	into := []ast.Node{parent}
	for _, n := range Children(parent) {
		block, ok := n.(*ast.HTMLBlock)
		if !ok {
			if n.Type() == ast.TypeBlock {
				nest(n, src)
			}
			if last := into[len(into)-1]; last != parent {
				last.AppendChild(last, n)
			}
			continue
		}
		line := strings.TrimSpace(string(block.Lines().Value(src)))
		if line == "</details>" && len(into) > 1 {
			into = into[:len(into)-1]
		} else if f := foldOf(line); f != nil {
			if last := into[len(into)-1]; last == parent {
				parent.InsertBefore(parent, n, f)
			} else {
				last.AppendChild(last, f)
			}
			into = append(into, f)
		}
		parent.RemoveChild(parent, n)
	}
}

// foldOf reads the line that begins a fold, nil for any other.
func foldOf(line string) *Fold {
	mark, title, _ := strings.Cut(line, "<summary>")
	title, ok := strings.CutSuffix(title, "</summary>")
	if !ok || mark != "<details>" && mark != "<details open>" {
		return nil
	}
	return &Fold{Title: clean(html.UnescapeString(title)), Open: mark != "<details>"}
}

// Children returns the nodes directly below a node.
func Children(n ast.Node) (nodes []ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		nodes = append(nodes, c)
	}
	return nodes
}

// Span is a piece of a line.
type Span struct {
	Text         string
	Code, Strong bool
}

// Spans returns the pieces of a block of inline text, without its escapes. Line breaks are spaces, and of a link or
// a picture its words stay.
func Spans(block ast.Node, src []byte) (spans []Span) {
	code, strong := 0, 0
	add := func(text string) {
		one := Span{clean(text), code > 0, strong > 0}
		if last := len(spans) - 1; last >= 0 && spans[last].Code == one.Code && spans[last].Strong == one.Strong {
			spans[last].Text += one.Text
		} else if one.Text != "" {
			spans = append(spans, one)
		}
	}
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker makes no error
		step := -1
		if entering {
			step = 1
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			code += step
		case *ast.Emphasis:
			strong += step
		case *ast.RawHTML:
			if entering {
				add(string(n.Segments.Value(src)))
			}
		case *ast.Text:
			if !entering {
				break
			}
			value := n.Value(src)
			if code == 0 {
				value = unescaped(value)
			}
			add(string(value))
			if n.SoftLineBreak() || n.HardLineBreak() {
				add(" ")
			}
		}
		return ast.WalkContinue, nil
	})
	return spans
}

// Text returns the words of a line.
func Text(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// unescaped returns what Markdown says, without backslashes and with the characters that entities stand for.
func unescaped(value []byte) []byte {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	gmhtml.DefaultWriter.Write(w, value)
	_ = w.Flush() // a buffer makes no error
	return []byte(html.UnescapeString(b.String()))
}

// clean removes the spaces of no width that keep a forge from seeing mentions, and makes hidden characters visible.
func clean(text string) string { return plain.Escape(strings.ReplaceAll(text, "\u200b", "")) }

// states are those of signs, of the words that a cell may consist of, and of the bars of a strip: pass, fail, timeout
// for what needs a look, skip, edit, and none where nothing is known.
var states = map[string]string{
	"✓": "pass", "+": "pass", "✗": "fail", "-": "fail", "−": "fail", "!": "timeout", "?": "timeout", "⏱": "timeout",
	"⊘": "timeout", "◐": "timeout", "○": "skip", "~": "edit", "↕": "edit", "=": "none", "·": "none", "…": "none",
	"ok": "pass", "pass": "pass", "warn": "timeout", "blocked": "timeout", "partial": "timeout", "critical": "fail",
	"failed": "fail", "error": "fail", "fail": "fail", "interrupted": "fail", "timeout": "fail", "allowed": "pass",
	"▁": "pass", "▄": "timeout", "█": "fail",
}

// State is that of a sign, a word or a bar; "" of any other text.
func State(text string) string { return states[text] }

// Sign cuts the sign off the beginning of a line; "" without one.
func Sign(line string) (sign, rest string) {
	sign, rest, ok := strings.Cut(line, " ")
	if ok && states[sign] != "" && !strings.ContainsAny(sign, "abcdefghijklmnopqrstuvwxyz") {
		return sign, rest
	}
	return "", line
}

// IsStrip reports whether a cell is a strip of bars, as digests have them for a history.
func IsStrip(cell string) bool { return cell != "" && strings.Trim(cell, "·▁▄█") == "" }

// SignOf cuts the sign off the first of the pieces of a line; "" without one.
func SignOf(spans []Span) (sign string, rest []Span) {
	if len(spans) == 0 || spans[0].Code || spans[0].Strong {
		return "", spans
	}
	sign, line := Sign(spans[0].Text)
	if sign == "" {
		return "", spans
	}
	rest = slices.Clone(spans)
	rest[0].Text = line
	return sign, rest
}

// Island is the language of a fence that stands, in a document for a page, for what only a page can show.
const Island = "island"
