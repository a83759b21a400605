package expr

import (
	"fmt"
	"slices"
)

// Expr is a parsed expression. It is immutable.
type Expr struct {
	root  node
	names []string
	steps []string
}

// Error is what is wrong with an expression, and where in it.
type Error struct {
	Col int // from 1, in characters of the expression
	Msg string
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Col, e.Msg) }

func errorf(col int, format string, args ...any) *Error {
	return &Error{Col: col, Msg: fmt.Sprintf(format, args...)}
}

// Scope is what an expression sees. Values are nil, bool, int, int64, *big.Int, float64, string,
// []any and map[string]any.
type Scope struct {
	Params map[string]any
	Scraps map[string]any
	Steps  map[string]bool // every step of the notebook: whether it has passed
}

// Parse reads an expression. An error is an *Error.
func Parse(text string) (*Expr, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, errorf(t.col, "%s is not expected here", t)
	}
	e := &Expr{root: root}
	root.walk(func(n node) {
		switch n := n.(type) {
		case *nameNode:
			if !slices.Contains(e.names, n.text()) {
				e.names = append(e.names, n.text())
			}
		case *passedNode:
			if !slices.Contains(e.steps, n.step) {
				e.steps = append(e.steps, n.step)
			}
		}
	})
	return e, nil
}

// Names is every name that is looked up, once each, in order: "load", "params.threshold",
// "scraps.avg_load". What follows a name ("scraps.a.b", "a[0]") is not in it.
func (e *Expr) Names() []string { return slices.Clone(e.names) }

// Steps is every step that passed("…") asks for, once each, in order.
func (e *Expr) Steps() []string { return slices.Clone(e.steps) }

// Eval says whether the expression holds. An error is an *Error: a name without a value, values
// that cannot be compared, a result that is not true or false.
func (e *Expr) Eval(s Scope) (bool, error) {
	v, err := e.root.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, errorf(e.root.column(), "the result is %s, not true or false", kindOf(v))
	}
	return b, nil
}
