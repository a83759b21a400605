package html

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"markmill/notebooks/blocks"
)

// Ids on a page have prefixes, so that a notebook cannot claim the id of a part of the page itself.
const (
	headingPrefix = "h-"
	stepPrefix    = "step-"
)

// maxParagraph bounds paragraphs in bytes, because parsing inlines takes more than linear time.
const maxParagraph = 64 << 10

// longParagraphs turns paragraphs that are too long into code.
type longParagraphs struct{}

func (longParagraphs) Transform(node *ast.Paragraph, _ text.Reader, _ parser.Context) {
	lines := node.Lines()
	if n := lines.Len(); n == 0 || lines.At(n-1).Stop-lines.At(0).Start <= maxParagraph {
		return
	}
	code := ast.NewCodeBlock()
	code.SetLines(lines)
	node.Parent().ReplaceChild(node.Parent(), node, code)
}

// newMarkdown returns a parser that finds the same fences as markdown.Parse, with GitHub's extensions. Its HTML
// must be sanitized.
func newMarkdown() goldmark.Markdown {
	transformers := append(blocks.ParagraphTransformers(), util.Prioritized(longParagraphs{}, 50))
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(blocks.BlockParsers()...),
			parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(formulaParser{}, 50))...),
			parser.WithParagraphTransformers(transformers...))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(
			extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList,
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}))),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(gmhtml.NewRenderer(gmhtml.WithUnsafe()), 1000), util.Prioritized(fences{}, 100),
			util.Prioritized(formulaHTML{}, 100)))),
	)
}

// fences renders fences in lists and quotes. The page itself renders those at the top level.
type fences struct{}

func (fences) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus,
		error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		f := n.(*ast.FencedCodeBlock)
		if m := mathFence(f, src); m != "" {
			_, err := w.WriteString(string(m))
			return ast.WalkSkipChildren, err
		}
		_, err := fmt.Fprintf(w, "<pre>\n%s</pre>\n", highlight(string(f.Language(src)), cleanLines(linesOf(f, src))))
		return ast.WalkSkipChildren, err
	})
}

// linesOf returns the lines of a block; of a fence, those between its delimiters.
func linesOf(n ast.Node, src []byte) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		b.Write(at.Value(src))
	}
	return b.String()
}

// infoOf returns the info string of a fence.
func infoOf(f *ast.FencedCodeBlock, src []byte) string {
	if f.Info == nil {
		return ""
	}
	return string(f.Info.Value(src))
}

// names makes names unique by adding numbers.
type names struct {
	used map[string]bool
	next map[string]int // the number that is tried next behind a name
}

func newNames() names { return names{map[string]bool{}, map[string]int{}} }

func (n names) unique(base string) string {
	name := base
	for k := max(n.next[base], 1); n.used[name]; k++ {
		name = fmt.Sprintf("%s-%d", base, k)
		n.next[base] = k
	}
	n.used[name] = true
	return name
}

// headingIDs makes unique heading ids as forges do, with the page's prefix.
type headingIDs struct{ names }

func (h headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, string(bytes.ToValidUTF8(value, nil)))
	return []byte(headingPrefix + h.unique(cmp.Or(id, "heading")))
}

func (h headingIDs) Put([]byte) {}

// plainText returns the text of a node without markup.
func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker makes no error
		if entering {
			switch n := n.(type) {
			case *ast.Text:
				b.Write(n.Value(src))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.String:
				b.Write(n.Value)
			case *formulaNode:
				b.WriteString(n.text(src))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}
