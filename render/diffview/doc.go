// Package diffview describes a comparison: what is shown, in which order and words. The views on a terminal, in
// Markdown and in HTML differ only in their markup.
//
// It owns the sections and their order (what turned red comes first), the words of a change, the context around
// changed lines, and the JSON of docs/review.md.
//
// What always holds: everything is a pure function of the diff. Texts are raw, and the views make them safe.
//
// It imports notebooks and its sub-packages, and of the views only render/result and render/plain.
package diffview
