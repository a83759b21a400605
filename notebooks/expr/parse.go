package expr

import "slices"

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

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errorf(p.peek().col, "nested deeper than %d", maxDepth)
	}
	return nil
}

func (p *parser) expression() (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	return p.logic("||", func() (node, error) { return p.logic("&&", p.not) })
}

func (p *parser) logic(operator string, operand func() (node, error)) (node, error) {
	left, err := operand()
	for err == nil {
		t, ok := p.accept(operator)
		if !ok {
			return left, nil
		}
		var right node
		right, err = operand()
		left = &logicNode{at{t.col}, operator, left, right}
	}
	return nil, err
}

func (p *parser) not() (node, error) {
	t, ok := p.accept("!")
	if !ok {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	operand, err := p.not()
	return &notNode{at{t.col}, operand}, err
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">=", "in"}

func (p *parser) comparison() (node, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	t, ok := p.accept(comparisons...)
	negated := false
	if !ok && p.peek().text == "!" && p.peek().kind == tokenOperator && p.tokens[p.pos+1].text == "in" &&
		p.tokens[p.pos+1].kind == tokenOperator {
		t, negated, ok = p.next(), true, true
		p.next()
		t.text = "in"
	}
	if !ok {
		return left, nil
	}
	right, err := p.sum()
	if err != nil {
		return nil, err
	}
	if more, chained := p.accept(comparisons...); chained {
		return nil, errorf(more.col, "comparisons do not chain; write a < b and b < c")
	}
	var n node = &compareNode{at{t.col}, t.text, left, right}
	if negated {
		n = &notNode{at{t.col}, n}
	}
	return n, nil
}

func (p *parser) sum() (node, error) {
	return p.arithmetic([]string{"+", "-"}, func() (node, error) {
		return p.arithmetic([]string{"*", "/"}, p.unary)
	})
}

func (p *parser) arithmetic(operators []string, operand func() (node, error)) (node, error) {
	left, err := operand()
	for err == nil {
		t, ok := p.accept(operators...)
		if !ok {
			return left, nil
		}
		var right node
		right, err = operand()
		left = &arithmeticNode{at{t.col}, t.text, left, right}
	}
	return nil, err
}

func (p *parser) unary() (node, error) {
	t, ok := p.accept("-")
	if !ok {
		return p.postfix()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	operand, err := p.unary()
	return &negateNode{at{t.col}, operand}, err
}

// postfix reads a value and what goes into it: .name, [key].
func (p *parser) postfix() (node, error) {
	n, err := p.primary()
	for err == nil {
		if t, ok := p.accept("."); ok {
			name := p.next()
			if name.kind != tokenName {
				return nil, errorf(name.col, "a name is expected behind the point, not %s", name)
			}
			n = &indexNode{at{t.col}, n, &literalNode{at{name.col}, name.text}}
			continue
		}
		t, ok := p.accept("[")
		if !ok {
			return n, nil
		}
		var key node
		if key, err = p.expression(); err == nil {
			err = p.expect("]", "behind the key")
		}
		n = &indexNode{at{t.col}, n, key}
	}
	return nil, err
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "null": nil, "None": nil}

func (p *parser) primary() (node, error) {
	t := p.next()
	switch {
	case t.kind == tokenValue:
		return &literalNode{at{t.col}, t.value}, nil
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
		return &literalNode{at{t.col}, v}, nil
	}
	if _, ok := p.accept("("); ok {
		return p.call(t)
	}
	return p.name(t)
}

func (p *parser) list(open token) (node, error) {
	list := &listNode{at: at{open.col}}
	for {
		if _, ok := p.accept("]"); ok {
			return list, nil
		}
		item, err := p.expression()
		if err != nil {
			return nil, err
		}
		list.items = append(list.items, item)
		if _, ok := p.accept(","); !ok {
			return list, p.expect("]", "to close the list")
		}
	}
}

// name reads a name; behind params and scraps the name of theirs belongs to it.
func (p *parser) name(t token) (*nameNode, error) {
	n := &nameNode{at: at{t.col}, name: t.text}
	if t.text != "params" && t.text != "scraps" {
		return n, nil
	}
	if _, ok := p.accept("."); !ok {
		return nil, errorf(p.peek().col, "a name is expected: %s.name", t.text)
	}
	name := p.next()
	if name.kind != tokenName {
		return nil, errorf(name.col, "a name is expected behind the point, not %s", name)
	}
	n.root, n.name = t.text, name.text
	return n, nil
}

func (p *parser) call(t token) (node, error) {
	switch t.text {
	case "passed":
		step := p.next()
		name, ok := step.value.(string)
		if !ok {
			return nil, errorf(step.col, `a step is expected in quotes: passed("build")`)
		}
		return &passedNode{at{t.col}, name}, p.expect(")", "behind the step")
	case "defined":
		arg := p.peek()
		if arg.kind != tokenName || arg.text == "defined" || arg.text == "passed" {
			return nil, errorf(arg.col, "a name is expected: defined(scraps.coverage)")
		}
		operand, err := p.postfix()
		if err != nil {
			return nil, err
		}
		return &definedNode{at{t.col}, operand}, p.expect(")", "behind the name")
	}
	return nil, errorf(t.col, "there is no function %q; there is: defined, passed", t.text)
}
