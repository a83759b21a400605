package convert

import (
	"bytes"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// Object is a JSON object that keeps the order of its names.
type Object []Field

// Field is one name and its value.
type Field struct {
	Name  string
	Value codec.Raw
}

// objectOf reads an object; anything else is empty. The last of two equal names wins.
func objectOf(raw codec.Raw) Object {
	members := ipynb.Members(ipynb.Value{Raw: raw})
	o := make(Object, 0, len(members))
	at := make(map[string]int, len(members))
	for _, m := range members {
		o.setAt(at, m.Name, m.Raw)
	}
	return o
}

// setAt is Set for an object in the making: at has the place of each name.
func (o *Object) setAt(at map[string]int, name string, value codec.Raw) {
	if i, ok := at[name]; ok {
		(*o)[i].Value = value
		return
	}
	at[name] = len(*o)
	*o = append(*o, Field{name, value})
}

// byName indexes the values, for repeated lookups.
func (o Object) byName() map[string]codec.Raw {
	out := make(map[string]codec.Raw, len(o))
	for _, f := range o {
		out[f.Name] = f.Value
	}
	return out
}

// Get finds a value; nil without one.
func (o Object) Get(name string) codec.Raw {
	for _, f := range o {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Has reports whether there is a value, even null.
func (o Object) Has(name string) bool { return o.Get(name) != nil }

// Set puts a value in its place, or at the end.
func (o *Object) Set(name string, value codec.Raw) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Field{name, value})
}

// without returns a copy without some names.
func (o Object) without(names ...string) Object {
	var out Object
next:
	for _, f := range o {
		for _, name := range names {
			if f.Name == name {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// Raw returns the object as JSON; nil when it is empty.
func (o Object) Raw() codec.Raw {
	if len(o) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted(f.Name))
		b.WriteByte(':')
		b.Write(f.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// object returns a value that is an object itself.
func (o Object) object(name string) Object { return objectOf(o.Get(name)) }

// setObject sets an object, or removes the name if it is empty.
func (o *Object) setObject(name string, value Object) {
	if len(value) == 0 {
		*o = o.without(name)
		return
	}
	o.Set(name, value.Raw())
}

// text returns a value that is a string, or "".
func (o Object) text(name string) string { return textOf(o.Get(name)) }

func textOf(raw codec.Raw) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	s, err := codec.NewCursor(raw, 0).String()
	if err != nil {
		return ""
	}
	return s
}

// texts returns a value that is a list of strings.
func (o Object) texts(name string) []string {
	raw := o.Get(name)
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var list []string
	c := codec.NewCursor(raw, 0)
	_, err := c.Array(func() error {
		if c.Kind() != '"' {
			_, err := c.Skip()
			return err
		}
		s, err := c.String()
		list = append(list, s)
		return err
	})
	if err != nil {
		return nil
	}
	return list
}

// textList returns a list of texts as JSON.
func textList(list []string) codec.Raw {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted(s))
	}
	b.WriteByte(']')
	return b.Bytes()
}

// quoted returns a text as JSON. Line ends of Python's splitlines and invisible characters are escaped, too.
func quoted(s string) codec.Raw {
	return codec.AppendText(nil, s, func(r rune) bool {
		return r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	})
}

// spaced returns a value on one line, as Python's json.dumps has it: a space after each comma and colon.
func spaced(raw codec.Raw) string {
	var b strings.Builder
	writeSpaced(&b, codec.NewCursor(raw, 0), raw, nil)
	return b.String()
}

// inPython formats a value as Python does.
func inPython(raw codec.Raw) string {
	var b strings.Builder
	writeSpaced(&b, codec.NewCursor(raw, 0), raw, map[string]string{"true": "True", "false": "False", "null": "None"})
	return b.String()
}

func writeSpaced(b *strings.Builder, c *codec.Cursor, src []byte, words map[string]string) {
	first := true
	comma := func() {
		if !first {
			b.WriteString(", ")
		}
		first = false
	}
	switch c.Kind() {
	case '{':
		b.WriteByte('{')
		_, _ = c.Object(func(name []byte, _ codec.Span) error {
			comma()
			b.Write(quoted(string(name)))
			b.WriteString(": ")
			writeSpaced(b, c, src, words)
			return nil
		})
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		_, _ = c.Array(func() error {
			comma()
			writeSpaced(b, c, src, words)
			return nil
		})
		b.WriteByte(']')
	case '"':
		s, _ := c.String()
		b.Write(quoted(s))
	default:
		span, err := c.Skip()
		if word, ok := words[string(span.Of(src))]; ok {
			b.WriteString(word)
		} else if err == nil {
			b.Write(span.Of(src))
		}
	}
}

// same reports whether two values are equal; the order of names does not matter.
func same(a, b codec.Raw) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if codec.UnmarshalForeign(a, &x) != nil || codec.UnmarshalForeign(b, &y) != nil {
		return spaced(a) == spaced(b)
	}
	p, err := codec.Marshal(x)
	if err != nil {
		return false
	}
	q, err := codec.Marshal(y)
	return err == nil && bytes.Equal(p, q)
}
