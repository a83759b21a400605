package notebooks_test

import (
	"slices"
	"testing"

	"markmill/notebooks"
)

func TestMarkers(t *testing.T) {
	for code, want := range map[string]notebooks.Markers{
		"# NBVAL_SKIP\n1":                                           {Skip: true},
		"1\n   ##  NBVAL_RAISES_EXCEPTION \r\n":                     {Raises: true},
		"// NBVAL_CHECK_OUTPUT":                                     {Check: true},
		"#NBVAL_IGNORE_OUTPUT\n":                                    {Ignore: true},
		"# PYTEST_VALIDATE_IGNORE_OUTPUT":                           {Ignore: true},
		"# NBVAL_IGNORE_OUTPUT\n# NBVAL_CHECK_OUTPUT":               {Check: true},
		"# NBVAL_CHECK_OUTPUT\n# NBVAL_SKIP\n# NBVAL_IGNORE_OUTPUT": {Skip: true, Ignore: true},
		"x = '''\nNBVAL_SKIP\n'''\nprint(1) # NBVAL_SKIP\n# NBVAL_SKIP it\n/ NBVAL_SKIP\n# nbval_skip": {},
		"": {},
	} {
		if got := (&notebooks.Step{Code: []byte(code)}).Markers(); got != want {
			t.Errorf("%q: %+v, want %+v", code, got, want)
		}
	}
}

// TestApplyMarkers: tags are added once, and only those that concern a run.
func TestApplyMarkers(t *testing.T) {
	nb := &notebooks.Notebook{Steps: []*notebooks.Step{{
		Code: []byte("# NBVAL_SKIP\n# NBVAL_IGNORE_OUTPUT\n# NBVAL_CHECK_OUTPUT\n"),
		Tags: []string{notebooks.TagSkip}}, {Code: []byte("# NBVAL_RAISES_EXCEPTION")}}}
	nb.ApplyMarkers()
	if !slices.Equal(nb.Steps[0].Tags, []string{notebooks.TagSkip}) || !slices.Equal(nb.Steps[1].Tags,
		[]string{notebooks.TagRaises}) {
		t.Errorf("%q %q", nb.Steps[0].Tags, nb.Steps[1].Tags)
	}
}
