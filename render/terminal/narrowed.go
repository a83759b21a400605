package terminal

import (
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// narrowed lists the restrictions by policies and the command line. It prints nothing if only the notebook restricts
// itself.
func (p *page) narrowed(list []runs.NarrowedData) {
	var t table
	others := false
	for _, n := range list {
		others = others || n.By != runs.ByNotebook
		instead := ""
		if len(n.InsteadOf) > 0 {
			instead = "instead of " + valueOf(n.InsteadOf)
		}
		t.add(cell{shown(n.Key), dim}, cell{shown(valueOf(n.Value)), ""}, cell{"by " + shown(n.By), ""},
			cell{shown(instead), dim})
	}
	if others {
		p.section("Narrowed", &t)
	}
}

// valueOf formats a JSON string, or a list of strings.
func valueOf(raw codec.Raw) string {
	var text string
	if codec.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if codec.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}
