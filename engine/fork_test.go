package engine

import (
	"testing"

	"markmill/notebooks"
)

func TestForkReads(t *testing.T) {
	for _, c := range []struct {
		name, code, condition string
		want                  string
	}{
		{"a shell's variable", "echo $rate", "", "rate"},
		{"in braces", "echo ${rate}s", "", "rate"},
		{"part of longer names", "echo $rates $my_rate rate2", "", ""},
		{"behind a longer name", "x = rates + rate", "", "rate"},
		{"the condition", "true", "rate > 1", "rate"},
		{"nothing", "true", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &PlannedStep{Step: &notebooks.Step{Code: []byte(c.code), If: c.condition}, Kernel: &fakeKernel{}}
			if got := reads(s, []string{"rate"}); got != c.want {
				t.Errorf("%q, and %q was expected", got, c.want)
			}
			s.Parameters = true
			if got := reads(s, []string{"rate"}); got != "" {
				t.Errorf("the block of parameters reads %q", got)
			}
		})
	}
}
