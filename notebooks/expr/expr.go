package expr

import (
	"fmt"
	"slices"
)

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

// maxDepth bounds brackets and not … not.
const maxDepth = 100

type parser struct {
	tokens []token
	pos    int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

func (p *parser) accept(operators ...string) (token, bool) {
	if t := p.peek(); t.kind == tokenOperator && slices.Contains(operators, t.text) {
		return p.next(), true
	}
	return token{}, false
}

func (p *parser) expect(operator, after string) error {
	if _, ok := p.accept(operator); !ok {
		return errorf(p.peek().col, "%q is expected %s, not %s", operator, after, p.peek())
	}
	return nil
}

// nested reads what is within a bracket or behind a prefix.
func (p *parser) nested(read func() (*node, error)) (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errorf(p.peek().col, "nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	return read()
}

func (p *parser) expression() (*node, error) { return p.nested(p.or) }

func (p *parser) or() (*node, error)      { return p.chain(p.and, "||") }
func (p *parser) and() (*node, error)     { return p.chain(p.not, "&&") }
func (p *parser) not() (*node, error)     { return p.prefixed("!", "!", p.comparison) }
func (p *parser) sum() (*node, error)     { return p.chain(p.product, "+", "-") }
func (p *parser) product() (*node, error) { return p.chain(p.unary, "*", "/") }
func (p *parser) unary() (*node, error)   { return p.prefixed("-", opNegate, p.postfix) }

// chain reads operands with operators of one rank between them, the left ones first.
func (p *parser) chain(operand func() (*node, error), operators ...string) (*node, error) {
	left, err := operand()
	for err == nil {
		t, ok := p.accept(operators...)
		if !ok {
			return left, nil
		}
		var right *node
		right, err = operand()
		left = &node{col: t.col, op: t.text, args: []*node{left, right}}
	}
	return nil, err
}

// prefixed reads an operand with a prefix any number of times before it.
func (p *parser) prefixed(prefix, op string, operand func() (*node, error)) (*node, error) {
	t, ok := p.accept(prefix)
	if !ok {
		return operand()
	}
	n, err := p.nested(func() (*node, error) { return p.prefixed(prefix, op, operand) })
	return &node{col: t.col, op: op, args: []*node{n}}, err
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">=", "in"}

func (p *parser) comparison() (*node, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	start := p.pos
	not, negated := p.accept("!")
	t, ok := p.accept(comparisons...)
	if !ok || negated && t.text != "in" {
		p.pos = start
		return left, nil
	}
	if negated {
		t.col = not.col
	}
	right, err := p.sum()
	if err != nil {
		return nil, err
	}
	if more, chained := p.accept(comparisons...); chained {
		return nil, errorf(more.col, "comparisons do not chain; write a < b and b < c")
	}
	n := &node{col: t.col, op: t.text, args: []*node{left, right}}
	if negated {
		n = &node{col: t.col, op: "!", args: []*node{n}}
	}
	return n, nil
}

// postfix reads a value and what goes into it: .name, [key].
func (p *parser) postfix() (*node, error) {
	n, err := p.primary()
	for err == nil {
		t, ok := p.accept(".", "[")
		if !ok {
			return n, nil
		}
		var key *node
		if t.text == "." {
			var name token
			name, err = p.nameBehindPoint()
			key = &node{col: name.col, op: opLiteral, value: name.text}
		} else if key, err = p.expression(); err == nil {
			err = p.expect("]", "behind the key")
		}
		n = &node{col: t.col, op: opIndex, args: []*node{n, key}}
	}
	return nil, err
}

func (p *parser) nameBehindPoint() (token, error) {
	name := p.next()
	if name.kind != tokenName {
		return name, errorf(name.col, "a name is expected behind the point, not %s", name)
	}
	return name, nil
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "null": nil, "None": nil}

func (p *parser) primary() (*node, error) {
	t := p.next()
	switch {
	case t.kind == tokenValue:
		return &node{col: t.col, op: opLiteral, value: t.value}, nil
	case t.kind == tokenOperator && t.text == "(":
		n, err := p.expression()
		if err == nil {
			err = p.expect(")", "to close the bracket")
		}
		return n, err
	case t.kind == tokenOperator && t.text == "[":
		return p.list(t)
	case t.kind != tokenName:
		return nil, errorf(t.col, "a value is expected here, not %s", t)
	}
	if v, ok := constants[t.text]; ok {
		return &node{col: t.col, op: opLiteral, value: v}, nil
	}
	if _, ok := p.accept("("); ok {
		return p.call(t)
	}
	return p.name(t)
}

func (p *parser) list(open token) (*node, error) {
	list := &node{col: open.col, op: opList}
	for {
		if _, ok := p.accept("]"); ok {
			return list, nil
		}
		item, err := p.expression()
		if err != nil {
			return nil, err
		}
		list.args = append(list.args, item)
		if _, ok := p.accept(","); !ok {
			return list, p.expect("]", "to close the list")
		}
	}
}

// name reads a name; behind params and scraps the name of theirs belongs to it.
func (p *parser) name(t token) (*node, error) {
	n := name{name: t.text}
	if t.text == "params" || t.text == "scraps" {
		if _, ok := p.accept("."); !ok {
			return nil, errorf(p.peek().col, "a name is expected: %s.name", t.text)
		}
		part, err := p.nameBehindPoint()
		if err != nil {
			return nil, err
		}
		n = name{t.text, part.text}
	}
	return &node{col: t.col, op: opName, value: n}, nil
}

func (p *parser) call(t token) (*node, error) {
	switch t.text {
	case "passed":
		step := p.next()
		id, ok := step.value.(string)
		if !ok {
			return nil, errorf(step.col, `a step is expected in quotes: passed("build")`)
		}
		return &node{col: t.col, op: opPassed, value: id}, p.expect(")", "behind the step")
	case "defined":
		arg := p.peek()
		if arg.kind != tokenName || arg.text == "defined" || arg.text == "passed" {
			return nil, errorf(arg.col, "a name is expected: defined(scraps.coverage)")
		}
		operand, err := p.postfix()
		if err != nil {
			return nil, err
		}
		return &node{col: t.col, op: opDefined, args: []*node{operand}}, p.expect(")", "behind the name")
	}
	return nil, errorf(t.col, "there is no function %q; there is: defined, passed", t.text)
}
