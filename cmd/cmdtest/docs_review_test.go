package cmdtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"markmill/notebooks/diff"
	"markmill/render/review"
)

// TestTheJSONOfAComparisonIsDocumented holds docs/review.md to the JSON of a comparison: every member, and every word
// for what became of a cell.
func TestTheJSONOfAComparisonIsDocumented(t *testing.T) {
	text := readDoc(t, "review.md").section(t, "The JSON of a comparison")
	for _, name := range jsonMembers(reflect.TypeFor[diff.Diff](), nil) {
		if !text.mentions(name) {
			t.Errorf("review.md does not mention the member `%s`", name)
		}
	}
	for _, what := range typedConstants(t, "../../notebooks/diff/result.go", "What") {
		if !text.mentions(what) {
			t.Errorf("review.md does not mention `%s`", what)
		}
	}
}

// TestReviewIsDocumented does the same for the JSON of a review, its words, and its conditions.
func TestReviewIsDocumented(t *testing.T) {
	doc := readDoc(t, "review.md")
	text := doc.section(t, "The JSON of a review")
	for _, name := range jsonMembers(reflect.TypeFor[review.Review](), nil) {
		if !text.mentions(name) {
			t.Errorf("review.md does not mention the member `%s`", name)
		}
	}
	source := "../../render/review/review.go"
	for _, word := range append(typedConstants(t, source, "Change"), typedConstants(t, source, "Kind")...) {
		if !text.mentions(word) {
			t.Errorf("review.md does not mention `%s`", word)
		}
	}
	section := doc.section(t, "Review")
	for _, word := range append(typedConstants(t, source, "State"), typedConstants(t, source, "Condition")...) {
		if !section.hasRow(word) {
			t.Errorf("review.md has no row of `%s`", word)
		}
	}
}

// jsonMembers are the names of the members of a type and of all that is in it, once each.
func jsonMembers(of reflect.Type, seen []reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || slices.Contains(seen, of) {
		return nil
	}
	seen = append(seen, of)
	var names []string
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
			names = append(names, jsonMembers(of.Field(i).Type, seen)...)
		}
	}
	return names
}
