package kernel

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"markmill/notebooks"
)

// reserved are names, separated by spaces, that a session cannot hold as a parameter, and why. One that ends in * is a
// prefix.
type reserved struct{ names, why string }

func reservedName(tables []reserved, name string) string {
	for _, r := range tables {
		for pattern := range strings.FieldsSeq(r.names) {
			prefix, wild := strings.CutSuffix(pattern, "*")
			if pattern == name || wild && strings.HasPrefix(name, prefix) {
				return r.why
			}
		}
	}
	return ""
}

// invalidParam is the error for a parameter that a kernel cannot hold.
func invalidParam(b notebooks.Bound, kernel, why, hint string) error {
	return &notebooks.Error{
		Kind: notebooks.KindParameter, Line: b.Param.Line, Col: b.Param.Col,
		Msg:  fmt.Sprintf("the parameter %q cannot be a variable of the kernel %s: %s", b.Param.Name, kernel, why),
		Hint: hint,
	}
}

// validateAll checks every parameter once more, before an interpreter gets it.
func validateAll(k Kernel, params []notebooks.Bound) error {
	for _, b := range params {
		if err := k.ValidateParam(b); err != nil {
			return err
		}
	}
	return nil
}

// validateName checks that a parameter's name is a variable of a language: an identifier with the extra characters,
// and neither a keyword nor reserved.
func validateName(b notebooks.Bound, kernel, language, extra string, keywords []string, names []reserved) error {
	name, why := b.Param.Name, ""
	switch {
	case !identifier(name, extra):
		why = "it is not an identifier of " + language
	case slices.Contains(keywords, name):
		why = "it is a keyword of " + language
	default:
		why = reservedName(names, name)
	}
	if why == "" {
		return nil
	}
	return invalidParam(b, kernel, why, "rename the parameter")
}

// identifier reports whether name is made of letters, digits and the extra characters, and does not begin with a digit.
// It is slightly stricter than the languages.
func identifier(name, extra string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && !strings.ContainsRune(extra, r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}
