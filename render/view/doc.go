// Package view reads the document of a view, for the writers that show it on a page or in a terminal.
//
// A view is one document in Markdown: headings, paragraphs, lists, tables, fences of the language diff, and folds. A
// heading, an item or a cell may begin with a sign (✗, ✓, !, …), which gives its color. What comes from others is
// escaped when the document is made (safe.Inline, safe.CodeSpan, render.Words).
//
// What always holds: no HTML is left in the tree but that of folds, whose titles are text. All text has its hidden
// characters visible.
//
// It may import render/plain.
package view
