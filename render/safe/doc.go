// Package safe makes text of a run fit to be shown in Markdown, and to be compared with that of the next run.
//
// It owns the order of the steps: terminal effects (package plain), names for this machine's paths, the notebook's
// normalize rules, escapes. It owns excerpts of long text, patches and tables as text, and the quoting of Markdown.
//
// What always holds: nothing in a text can end the fence, code span or line that it stands in.
//
// It may import notebooks, runs and render/plain.
package safe
