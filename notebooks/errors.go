package notebooks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks/ansi"
)

// Kind classes an error for programs. Kinds are append-only; cmd maps them to exit codes in one switch.
type Kind string

const (
	KindSyntax    Kind = "syntax"    // the file cannot be read as a notebook
	KindOption    Kind = "option"    // an unknown or ill-typed attribute, tag, key or flag
	KindParameter Kind = "parameter" // a parameter that is unknown, missing, given twice or of the wrong type
	KindRegion    Kind = "region"    // a damaged or edited region of an output notebook
	KindInput     Kind = "input"     // not a file, not UTF-8, too large
	KindProvider  Kind = "provider"  // an interpreter or backend that is missing or will not start
	KindArtifact  Kind = "artifact"  // a file of the record that cannot be written
	KindRecord    Kind = "record"    // a record of a run that does not hold: a broken journal, a wrong digest
	KindInternal  Kind = "internal"
)

// Error is the one error type that people see: where, what was expected, how to mend it.
type Error struct {
	Kind Kind
	File string // "" when the error is not of a file
	Line int    // from 1; 0: unknown
	Col  int    // from 1, in characters; 0: unknown
	Step StepID // "" when the error is not of a step
	Msg  string // what is wrong and what was expected
	Hint string // how to mend it; may be empty
	Err  error  // the cause, may be nil
}

// Error prints "file:line:col: step "id": message; hint".
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(ansi.Escape(e.File)) // any bytes can be a name
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
			if e.Col > 0 {
				fmt.Fprintf(&b, ":%d", e.Col)
			}
		}
		b.WriteString(": ")
	}
	if e.Step != "" {
		fmt.Fprintf(&b, "step %q: ", string(e.Step))
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// ErrorList is every mistake found in one reading, in order of place.
type ErrorList []*Error

func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts by place; mistakes of one place keep their order.
func (l ErrorList) Sort() {
	slices.SortStableFunc(l, func(a, b *Error) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
}

// Unwrap lets errors.As and errors.Is look into each entry.
func (l ErrorList) Unwrap() []error {
	out := make([]error, len(l))
	for i, e := range l {
		out[i] = e
	}
	return out
}
