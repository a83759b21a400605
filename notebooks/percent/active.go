package percent

import (
	"slices"
	"strings"

	"markmill/notebooks/codec"
)

// Active reports whether a cell is code in files of an extension, as Jupytext has it: in all of them, unless its
// metadata name some. field finds a value of the metadata, and returns nil without one.
func Active(field func(name string) codec.Raw, ext string) bool {
	var control struct {
		Frozen bool `json:"frozen"`
	}
	if raw := field("run_control"); raw != nil && codec.UnmarshalForeign(raw, &control) == nil && control.Frozen {
		return ext == "ipynb"
	}
	named := func(words []string) bool {
		return slices.ContainsFunc(words, func(one string) bool { return strings.EqualFold(one, ext) })
	}
	for _, tag := range tagsOf(field("tags")) {
		if strings.HasPrefix(tag, "active-") {
			return named(strings.Split(tag, "-"))
		}
	}
	raw := field("active")
	if raw == nil {
		return true
	}
	return named(strings.FieldsFunc(text(raw), func(r rune) bool { return r == '.' || r == ',' }))
}

// text returns a value that is one; "" of another.
func text(raw codec.Raw) string {
	var s string
	if raw == nil || codec.UnmarshalForeign(raw, &s) != nil {
		return ""
	}
	return s
}
