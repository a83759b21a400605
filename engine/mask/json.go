package mask

import (
	"maps"
	"slices"
	"strings"

	"markmill/notebooks/codec"
)

// byChance is the number of digest digits that may match a value by coincidence: fifteen hexadecimal digits match at
// random once in 2^60 positions.
const byChance = 16 - len(Mark)

// JSON returns a JSON value with every string in it masked, including member names. Digests and Git object names stay:
// a match in their digits is a coincidence. Numbers stay unless numbers is set, which turns those that show a value
// into a masked string.
func (s *Set) JSON(raw codec.Raw, numbers bool) (codec.Raw, error) {
	if s == nil || len(raw) == 0 {
		return raw, nil
	}
	switch raw.Kind() {
	case '"':
		var text string
		if err := codec.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		masked := s.Text(text)
		if masked == text || isDigest(text) && len(text)-len(masked) < byChance {
			return raw, nil
		}
		return codec.Marshal(masked)
	case '0':
		if !numbers || !s.In(raw) {
			return raw, nil
		}
		return codec.Marshal(s.Text(string(raw)))
	case '{':
		var members map[string]codec.Raw
		if err := codec.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		out := make(map[string]codec.Raw, len(members))
		for _, name := range slices.Sorted(maps.Keys(members)) {
			value, err := s.JSON(members[name], numbers)
			if err != nil {
				return nil, err
			}
			name = s.Text(name)
			for out[name] != nil {
				name += Mark // masking made two names equal
			}
			out[name] = value
		}
		return codec.Marshal(out)
	case '[':
		var list []codec.Raw
		if err := codec.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = s.JSON(list[i], numbers); err != nil {
				return nil, err
			}
		}
		return codec.Marshal(list)
	}
	return raw, nil
}

// isDigest reports whether text is just a digest: SHA-256 with or without its prefix, or SHA-1.
func isDigest(text string) bool {
	_, digits, found := strings.Cut(text, ":")
	if !found {
		digits = text
	} else if !strings.HasPrefix(text, "sha256:") && !strings.HasPrefix(text, "hmac-sha256:") {
		return false
	}
	if len(digits) != 40 && len(digits) != 64 {
		return false
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}
