package markdown

import (
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// TypedTags returns the tags of a step as its author typed them in the braces of Markmill's own form; in other forms,
// the tags that the step has. The tag step, which only makes one, is not among them.
func TypedTags(nb *notebooks.Notebook, s *notebooks.Step) []string {
	tags := s.Tags
	line := string(nb.Source[s.Fence.Start:blocks.LineEnd(nb.Source, s.Fence.Start)])
	info := strings.TrimSpace(strings.TrimLeft(strings.TrimLeft(line, " \t"), "`~"))
	if in := parseInfo(info, 0); in.form == notebooks.FormNative {
		tags = nil
		for _, t := range in.tags {
			tags = append(tags, t.text)
		}
		if a, ok := in.attr("tags"); ok {
			tags = append(tags, a.words()...)
		}
	}
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == "step" })
}

// FrontKey reports whether a key of a front matter is Markmill's.
func FrontKey(key string) bool {
	_, ok := frontKeys[key]
	return ok || key == "params"
}
