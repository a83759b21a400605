package expr

import "math/big"

// node is a part of an expression.
type node interface {
	column() int
	eval(Scope) (any, error)
	walk(func(node))
}

// at is where a node stands.
type at struct{ col int }

func (a at) column() int { return a.col }

type literalNode struct {
	at
	value any
}

func (n *literalNode) walk(f func(node))       { f(n) }
func (n *literalNode) eval(Scope) (any, error) { return n.value, nil }

type listNode struct {
	at
	items []node
}

func (n *listNode) walk(f func(node)) {
	f(n)
	for _, i := range n.items {
		i.walk(f)
	}
}

func (n *listNode) eval(s Scope) (any, error) {
	list := make([]any, len(n.items))
	for i, item := range n.items {
		v, err := item.eval(s)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// nameNode is name, params.name or scraps.name.
type nameNode struct {
	at
	root, name string
}

func (n *nameNode) walk(f func(node)) { f(n) }

func (n *nameNode) text() string {
	if n.root == "" {
		return n.name
	}
	return n.root + "." + n.name
}

func (n *nameNode) find(s Scope) (any, bool) {
	if v, ok := s.Scraps[n.name]; ok && n.root != "params" {
		return v, true
	}
	if n.root == "scraps" {
		return nil, false
	}
	v, ok := s.Params[n.name]
	return v, ok
}

func (n *nameNode) eval(s Scope) (any, error) {
	v, ok := n.find(s)
	if !ok {
		kind := map[string]string{"": "scrap or parameter", "scraps": "scrap", "params": "parameter"}[n.root]
		return nil, errorf(n.col, "there is no %s %q; defined(%s) asks whether there is", kind, n.name, n.text())
	}
	return v, nil
}

type indexNode struct {
	at
	operand, key node
}

func (n *indexNode) walk(f func(node)) {
	f(n)
	n.operand.walk(f)
	n.key.walk(f)
}

func (n *indexNode) eval(s Scope) (any, error) {
	v, err := n.operand.eval(s)
	if err != nil {
		return nil, err
	}
	key, err := n.key.eval(s)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		name, ok := key.(string)
		if !ok {
			return nil, errorf(n.key.column(), "the key of a map is text, not %s", kindOf(key))
		}
		item, ok := v[name]
		if !ok {
			return nil, errorf(n.key.column(), "the map has no key %q", name)
		}
		return item, nil
	case []any:
		i, ok := asInt(key)
		if !ok {
			return nil, errorf(n.key.column(), "the place in a list is an integer, not %s", kindOf(key))
		}
		if !i.IsInt64() || i.Sign() < 0 || i.Int64() >= int64(len(v)) {
			return nil, errorf(n.key.column(), "the list has no place %s; it has %d", i, len(v))
		}
		return v[i.Int64()], nil
	}
	return nil, errorf(n.col, "%s has no parts", kindOf(v))
}

type definedNode struct {
	at
	operand node
}

func (n *definedNode) walk(f func(node)) { f(n); n.operand.walk(f) }

// eval asks for each part in turn: a part of what has no parts is not defined.
func (n *definedNode) eval(s Scope) (any, error) {
	if index, ok := n.operand.(*indexNode); ok {
		above, err := (&definedNode{n.at, index.operand}).eval(s)
		if err != nil || above == false {
			return above, err
		}
		_, err = index.eval(s)
		return err == nil, nil
	}
	if name, ok := n.operand.(*nameNode); ok {
		_, found := name.find(s)
		return found, nil
	}
	return nil, errorf(n.col, "defined takes a name")
}

type passedNode struct {
	at
	step string
}

func (n *passedNode) walk(f func(node)) { f(n) }

func (n *passedNode) eval(s Scope) (any, error) {
	passed, ok := s.Steps[n.step]
	if !ok {
		return nil, errorf(n.col, "there is no step %q", n.step)
	}
	return passed, nil
}

type notNode struct {
	at
	operand node
}

func (n *notNode) walk(f func(node)) { f(n); n.operand.walk(f) }

func (n *notNode) eval(s Scope) (any, error) {
	b, err := truth(n.operand, s, "not")
	return !b, err
}

type logicNode struct {
	at
	operator    string
	left, right node
}

func (n *logicNode) walk(f func(node)) { f(n); n.left.walk(f); n.right.walk(f) }

func (n *logicNode) eval(s Scope) (any, error) {
	word := map[string]string{"&&": "and", "||": "or"}[n.operator]
	left, err := truth(n.left, s, word)
	if err != nil || left == (n.operator == "||") {
		return left, err
	}
	right, err := truth(n.right, s, word)
	return right, err
}

func truth(n node, s Scope, word string) (bool, error) {
	v, err := n.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, errorf(n.column(), "%q needs true or false, not %s", word, kindOf(v))
	}
	return b, nil
}

type negateNode struct {
	at
	operand node
}

func (n *negateNode) walk(f func(node)) { f(n); n.operand.walk(f) }

func (n *negateNode) eval(s Scope) (any, error) {
	v, err := n.operand.eval(s)
	if err != nil {
		return nil, err
	}
	if i, ok := asInt(v); ok {
		return new(big.Int).Neg(i), nil
	}
	if f, ok := v.(float64); ok {
		return -f, nil
	}
	return nil, errorf(n.col, "- needs a number, not %s", kindOf(v))
}

type arithmeticNode struct {
	at
	operator    string
	left, right node
}

func (n *arithmeticNode) walk(f func(node)) { f(n); n.left.walk(f); n.right.walk(f) }

func (n *arithmeticNode) eval(s Scope) (any, error) {
	left, right, err := both(n.left, n.right, s)
	if err != nil {
		return nil, err
	}
	if !isNumber(left) || !isNumber(right) {
		return nil, errorf(n.col, "%s needs two numbers, not %s and %s", n.operator, kindOf(left), kindOf(right))
	}
	a, ok1 := asInt(left)
	b, ok2 := asInt(right)
	if ok1 && ok2 && n.operator != "/" {
		switch n.operator {
		case "+":
			return new(big.Int).Add(a, b), nil
		case "-":
			return new(big.Int).Sub(a, b), nil
		}
		return new(big.Int).Mul(a, b), nil
	}
	x, y := asFloat(left), asFloat(right)
	switch n.operator {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	}
	if y == 0 {
		return nil, errorf(n.col, "division by zero")
	}
	return x / y, nil
}

type compareNode struct {
	at
	operator    string
	left, right node
}

func (n *compareNode) walk(f func(node)) { f(n); n.left.walk(f); n.right.walk(f) }

func (n *compareNode) eval(s Scope) (any, error) {
	left, right, err := both(n.left, n.right, s)
	if err != nil {
		return nil, err
	}
	switch n.operator {
	case "in":
		return contains(n.col, left, right)
	case "==", "!=":
		if kindOf(left) != kindOf(right) && left != nil && right != nil {
			return nil, errorf(n.col, "%s and %s cannot be compared", kindOf(left), kindOf(right))
		}
		return equal(left, right) == (n.operator == "=="), nil
	}
	return ordered(n.col, n.operator, left, right)
}

func both(left, right node, s Scope) (any, any, error) {
	a, err := left.eval(s)
	if err != nil {
		return nil, nil, err
	}
	b, err := right.eval(s)
	return a, b, err
}
