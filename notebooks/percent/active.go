package percent

import (
	"slices"
	"strings"

	"markmill/notebooks/codec"
)

// active says whether a cell is code in files of an ending, as Jupytext has it: in all of them, unless its metadata
// name some.
func (c *Cell) active(ext string) bool {
	var control struct {
		Frozen bool `json:"frozen"`
	}
	if raw := c.Field("run_control"); raw != nil && codec.UnmarshalForeign(raw, &control) == nil && control.Frozen {
		return ext == "ipynb"
	}
	for _, tag := range c.Tags() {
		if strings.HasPrefix(tag, "active-") {
			return slices.ContainsFunc(strings.Split(tag, "-"), func(one string) bool { return strings.EqualFold(one, ext) })
		}
	}
	raw := c.Field("active")
	if raw == nil {
		return true
	}
	named := strings.FieldsFunc(text(raw), func(r rune) bool { return r == '.' || r == ',' })
	return slices.ContainsFunc(named, func(one string) bool { return strings.EqualFold(one, ext) })
}

// text is a value that is one; "" of another.
func text(raw codec.Raw) string {
	var s string
	if raw == nil || codec.UnmarshalForeign(raw, &s) != nil {
		return ""
	}
	return s
}
