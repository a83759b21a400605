package region

import (
	"bytes"

	"markmill/notebooks"
	"markmill/notebooks/params"
)

// Given returns the names of the parameters that were given to the run, as the region of the given values lists them;
// false without that region. A value that is given may be the default's.
func (s Stripped) Given() (names []string, listed bool) {
	for _, r := range s.Regions {
		if r.ID != notebooks.TagInjected {
			continue
		}
		var text []byte
		in := false
		for line := range bytes.Lines(r.Body) {
			switch fence := bytes.HasPrefix(line, []byte("```")); {
			case fence && in:
				in = false
			case fence:
				in = true
			case in:
				text = append(text, line...)
			}
		}
		values, err := params.ParseGiven("manifest", "", text)
		if err != nil {
			return nil, false
		}
		for _, v := range values {
			names = append(names, v.Name)
		}
		return names, true
	}
	return nil, false
}
