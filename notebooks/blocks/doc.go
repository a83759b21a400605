// Package blocks finds the blocks of a Markdown text: fences, HTML, front matter, lines and the conflict lines of Git.
//
// Goldmark alone decides where a block ends, so that every reader of a notebook sees the same fences. The package gives
// no meaning to a block; markdown does.
package blocks
