package cmdtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	mdast "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// TestLinks follows the relative links of the documents: the file is there, and the heading in it.
func TestLinks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(docs + "*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, file := range append(files, "../../README.md", "../../ARCHITECTURE.md") {
		for _, target := range links(t, file) {
			link, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: %q is no link: %v", file, target, err)
				continue
			}
			if link.Scheme != "" || link.Host != "" {
				continue
			}
			to := file
			if link.Path != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(link.Path))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, target)
				continue
			}
			if link.Fragment != "" && !slices.Contains(anchors(t, to), link.Fragment) {
				t.Errorf("%s: the link %s names no heading", file, target)
			}
		}
	}
}

// links are the destinations of a document's links and pictures.
func links(t *testing.T, file string) []string {
	var out []string
	walk(t, file, func(n mdast.Node, _ []byte) {
		switch n := n.(type) {
		case *mdast.Link:
			out = append(out, string(n.Destination))
		case *mdast.Image:
			out = append(out, string(n.Destination))
		}
	})
	return out
}

// anchors are the fragments that a forge gives a document's headings.
func anchors(t *testing.T, file string) []string {
	var out []string
	seen := map[string]int{}
	walk(t, file, func(n mdast.Node, src []byte) {
		if n.Kind() != mdast.KindHeading {
			return
		}
		var b strings.Builder
		for _, r := range strings.ToLower(plainText(n, src)) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		slug := b.String()
		if n := seen[slug]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", slug, n))
		} else {
			out = append(out, slug)
		}
		seen[slug]++
	})
	return out
}

func plainText(n mdast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if text, ok := c.(*mdast.Text); ok {
			b.Write(text.Value(src))
		} else {
			b.WriteString(plainText(c, src))
		}
	}
	return b.String()
}

func walk(t *testing.T, file string, visit func(mdast.Node, []byte)) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inMarkdown(string(src), visit)
}

// inMarkdown visits the nodes of a document.
func inMarkdown(doc string, visit func(mdast.Node, []byte)) {
	src := []byte(doc)
	_ = mdast.Walk(goldmark.New().Parser().Parse(text.NewReader(src)),
		func(n mdast.Node, entering bool) (mdast.WalkStatus, error) {
			if entering {
				visit(n, src)
			}
			return mdast.WalkContinue, nil
		})
}
