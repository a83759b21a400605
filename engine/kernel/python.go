package kernel

import (
	_ "embed" // the driver
	"slices"
	"strings"
	"unicode"

	"markmill/notebooks"
)

//go:embed drivers/python.py
var pythonDriver string

//go:embed drivers/python_scraps.py
var pythonScraps string

//go:embed drivers/python_more.py
var pythonRest string

//go:embed drivers/python_ipython.py
var pythonIPython string

// pythonMore is what a step loads that needs it.
var pythonMore = pythonRest + pythonIPython

// python is a kernel of CPython's language: python3 with a small driver.
type python struct{}

func newPython() Kernel { return python{} }

func (python) Name() string { return "python" }

// CanHold refuses names that are no variable of Python or that would hide what it stands on.
func (k python) CanHold(b notebooks.Bound) error {
	name := b.Param.Name
	switch {
	case !identifier(name, "_"):
		return cannot(b, k.Name(), "it is not an identifier of Python", "rename the parameter")
	case slices.Contains(pythonKeywords, name):
		return cannot(b, k.Name(), "it is a keyword of Python", "rename the parameter")
	case strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"):
		return cannot(b, k.Name(), "Python keeps names of this form for itself", "rename the parameter")
	}
	if why := reservedName(pythonReserved, name); why != "" {
		return cannot(b, k.Name(), why, "rename the parameter")
	}
	return nil
}

// identifier says whether name is made of letters, digits and the extra characters, and does not
// begin with a digit. It is a little stricter than the languages are.
func identifier(name, extra string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && !strings.ContainsRune(extra, r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}
