package merge

import "testing"

// TestMetadata merges what is no text.
func TestMetadata(t *testing.T) {
	for name, c := range map[string]struct{ path, b, x, y, want string }{
		"tags of both":           {"metadata.tags", `["a", "b"]`, `["b", "c"]`, `["a", "b", "d"]`, `["b", "c", "d"]`},
		"tags that both added":   {"metadata.tags", ``, `["c"]`, `["c", "d"]`, `["c", "d"]`},
		"spelled in another way": {"metadata.a", `{"a":1,"b":2}`, `{"b": 2, "a": 1}`, `{"a":1,"b":3}`, `{"a":1,"b":3}`},
		"members of both": {"metadata.a", `{"a":1,"b":2}`, `{"a":5,"b":2}`, `{"a":1,"b":2,"c":{"d": 1.50}}`,
			`{"a":5,"b":2,"c":{"d": 1.50}}`},
		"a member that is gone": {"metadata.a", `{"a":1,"b":2}`, `{"b":2}`, `{"a":1,"b":2,"c":3}`, `{"b":2,"c":3}`},
		"the last member":       {"metadata.a", `{"a":1,"b":2}`, `{"a":1}`, `{"b":2}`, `{}`},
		"what programs write": {"metadata.language_info", `{"version":"1"}`, `{"version":"2"}`, `{"version":"3"}`,
			`{"version":"2"}`},
		"members of the same name": {"metadata", `{"x":1}`, `{"x":1,"x":1,"y":1}`,
			`{"x":1,"z":1}`, `{"x":1,"z":1,"y":1}`},
		"the last of a name counts": {"metadata", `{"x":1}`, `{"x":1,"x":2}`, `{"x":1,"z":1}`, `{"x":2,"z":1}`},
		"where the others have it": {"metadata", `{"a":1,"d":1}`, `{"a":1,"d":2}`,
			`{"n":0,"a":1,"b":1,"c":1,"d":1,"e":1}`,
			`{"n":0,"a":1,"b":1,"c":1,"d":2,"e":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(nil, nil, Options{})
			if got := m.value(c.path, c.b, c.x, c.y); got != c.want || len(m.result.Conflicts) > 0 {
				t.Errorf("%s, want %s; %v", got, c.want, m.result.Conflicts)
			}
		})
	}
	m := newMerger(nil, nil, Options{})
	if got := m.value("metadata.a", "1", "2", ""); got != "2" || len(m.result.Conflicts) != 1 ||
		m.result.Conflicts[0].String() != "metadata.a: ours has 2, theirs has nothing; ours was kept" {
		t.Errorf("%s, %v", got, m.result.Conflicts)
	}
}
