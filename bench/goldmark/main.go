// Goldmark parses one Markdown file with goldmark alone and prints how many fences it found: the
// floor for reading a notebook.
package main

import (
	"fmt"
	"os"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: goldmark FILE")
		os.Exit(2)
	}
	source, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fences := 0
	document := goldmark.DefaultParser().Parse(text.NewReader(source))
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindFencedCodeBlock {
			fences++
		}
	}
	fmt.Println(fences)
}
