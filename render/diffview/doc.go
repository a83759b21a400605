// Package diffview says what a comparison found: what is told, in which order, in which words. The views on a
// terminal, in Markdown and in HTML differ in their marks only.
//
// It owns the sections and their order (what turned red first), the words of a change, the context
// around changed lines, and the JSON of docs/review.md.
//
// What always holds: everything is a pure function of the diff; the texts are raw, and the view that shows
// them makes them safe.
//
// It imports notebooks and its sub-packages, and of the views only render/result.
package diffview
