package expr

import "fmt"

// Expr is a parsed expression. It is immutable.
type Expr struct{ root *node }

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
	return &Expr{root}, nil
}

// Roots of names: params.name, scraps.name; and that of passed("step"), which names a step.
const (
	Params = "params"
	Scraps = "scraps"
	Steps  = "steps"
)

// Roots are those that an expression writes.
var Roots = []string{Params, Scraps}

// Name is a name that an expression asks for.
type Name struct {
	Root, Name string // "" of a bare name, which is a scrap or a parameter
	Parts      bool   // it asks for a part of it
	Defined    bool   // it asks whether there is one
}

// Ask is an expression that asks whether there is such a value.
func (n Name) Ask() string { return "defined(" + name{n.Root, n.Name}.String() + ")" }

// Names lists the names in an expression, in order.
func (e *Expr) Names() []Name { return e.root.names(Name{}) }

func (n *node) names(in Name) (list []Name) {
	switch n.op {
	case opName:
		in.Root, in.Name = n.value.(name).root, n.value.(name).name
		return []Name{in}
	case opPassed:
		return []Name{{Root: Steps, Name: n.value.(string)}}
	}
	in.Defined = in.Defined || n.op == opDefined
	for i, arg := range n.args {
		in.Parts = n.op == opIndex && i == 0
		list = append(list, arg.names(in)...)
	}
	return list
}

// Eval reports whether the expression holds. An error is an *Error: a name without a value, values
// that cannot be compared, a result that is not true or false.
func (e *Expr) Eval(s Scope) (bool, error) {
	v, err := e.root.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, errorf(e.root.col, "the result is %s, not true or false", kindOf(v))
	}
	return b, nil
}
