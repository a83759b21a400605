package sheet

import (
	"maps"
	"slices"

	"markmill/notebooks/codec"
)

// Scrapped makes a ComparedRun of values that no record has, such as those of a model that another program trained.
func Scrapped(name, status string, scraps map[string]codec.Raw, seconds float64) *ComparedRun {
	return &ComparedRun{Name: name, Status: status, Parameters: map[string]codec.Raw{}, Scraps: scraps,
		Seconds: &seconds,
		scraps:  slices.Sorted(maps.Keys(scraps))}
}
