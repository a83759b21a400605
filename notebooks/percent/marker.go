package percent

import (
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// marker returns the part of a line that begins a cell which follows the "%%"; ok says that the line begins one.
func (l Language) marker(text string) (options string, ok bool) {
	rest := strings.TrimLeft(text, " \t\f\v")
	if !strings.HasPrefix(rest, l.Comment) {
		return "", false
	}
	rest = strings.TrimLeft(l.withoutSuffix(rest[len(l.Comment):]), " \t\f\v")
	if after, is := strings.CutPrefix(rest, "%%"); is {
		signs := strings.TrimLeft(after, "%")
		if signs == "" || strings.ContainsAny(signs[:1], " \t\f\v") {
			return after, true
		}
		return "", false
	}
	switch rest = strings.TrimRight(rest, " \t\f\v"); {
	case rest == "<codecell>":
		return "", true
	case strings.HasPrefix(rest, "In["):
		number, tail, closed := strings.Cut(rest[len("In["):], "]")
		return "", closed && strings.Trim(number, "0123456789 ") == "" && (tail == "" || tail == ":")
	}
	return "", false
}

// options reads what follows "%%": the depth, a title with the cell's type in brackets, and fields, as NAME=VALUE with
// JSON or as one object of JSON. at is the offset of the text. It is false when something that looks like a field
// cannot be read; it is then part of the title.
func (c *Cell) options(text string, at int) bool {
	head, fields, ok := splitOptions(text, at)
	c.Metadata = fields
	title := strings.TrimSpace(head)
	c.Kind = Code
	for _, k := range []struct {
		mark  string
		kind  Kind
		short bool
	}{{"[markdown]", Markdown, false}, {"[raw]", Raw, false}, {"[md]", Markdown, true}} {
		if strings.Contains(title, k.mark) {
			title = strings.TrimSpace(strings.ReplaceAll(title, k.mark, ""))
			c.Kind, c.Short = k.kind, k.short
			break
		}
	}
	bare := strings.TrimLeft(title, "%")
	c.Depth = len(title) - len(bare)
	c.Title = strings.TrimSpace(bare)
	return ok
}

// MaxOptions bounds the options of a marker line, in bytes, and so the time to find positions in them.
const MaxOptions = 16 << 10

// splitOptions parts the title from the fields.
func splitOptions(text string, at int) (title string, fields []notebooks.Option, ok bool) {
	if len(text) > MaxOptions {
		return text, nil, false
	}
	equals, brace := strings.IndexByte(text, '='), strings.IndexByte(text, '{')
	if brace >= 0 && (equals < 0 || brace < equals) {
		fields, ok = objectFields(text[brace:], at+brace)
		if !ok {
			return text, nil, false
		}
		return text[:brace], fields, true
	}
	end := len(text) // of the title
	if equals >= 0 {
		end = strings.LastIndexAny(strings.TrimRight(text[:equals], " \t"), " \t") + 1
	}
	for { // words with a point before them are fields without a value
		word := strings.TrimRight(text[:end], " \t")
		begin := strings.LastIndexAny(word, " \t") + 1
		if begin >= len(word) || word[begin] != '.' {
			break
		}
		end = begin
	}
	fields, ok = pairFields(text[end:], at+end)
	if !ok {
		return text, nil, false
	}
	return text[:end], fields, true
}

// objectFields reads an object of JSON, or of Python.
func objectFields(text string, at int) ([]notebooks.Option, bool) {
	raw, ok := Relaxed(text)
	if !ok || raw.Kind() != '{' {
		return nil, false
	}
	var fields []notebooks.Option
	c := codec.NewCursor(raw, 0)
	_, err := c.Object(func(name []byte, _ codec.Span) error {
		span, err := c.Skip()
		place := max(strings.Index(text, strconv.Quote(string(name))), 0)
		fields = append(fields, notebooks.Option{Name: string(name), Value: span.Of(raw), At: at + place})
		return err
	})
	return fields, err == nil
}

// pairFields reads NAME=VALUE, and names alone.
func pairFields(text string, at int) ([]notebooks.Option, bool) {
	var fields []notebooks.Option
	for i := 0; ; {
		i += len(text[i:]) - len(strings.TrimLeft(text[i:], " \t"))
		if i == len(text) {
			return fields, true
		}
		start := i
		for i < len(text) && isNameByte(text[i]) {
			i++
		}
		name := text[start:i]
		after := strings.TrimLeft(text[i:], " \t")
		switch {
		case name == "":
			return nil, false
		case !strings.HasPrefix(after, "="):
			if i < len(text) && after == text[i:] { // a sign that no name has
				return nil, false
			}
			fields = append(fields, notebooks.Option{Name: name, Value: codec.Raw("null"), At: at + start})
			continue
		}
		i = len(text) - len(strings.TrimLeft(after[1:], " \t"))
		value, size, ok := scanValue(text[i:])
		if !ok {
			return nil, false
		}
		i += size
		fields = append(fields, notebooks.Option{Name: name, Value: value, At: at + start})
	}
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./@-", c) >= 0
}

// scanValue reads the value that a text begins with, up to a space outside of quotes and brackets.
func scanValue(text string) (codec.Raw, int, bool) {
	depth := 0
	i := 0
	for i < len(text) && (depth > 0 || text[i] != ' ' && text[i] != '\t') {
		switch c := text[i]; c {
		case '"', '\'':
			n := quoted(text[i:])
			if n == 0 {
				return nil, 0, false
			}
			i += n - 1
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		}
		i++
	}
	raw, ok := Relaxed(text[:i])
	return raw, i, ok
}

// quoted returns the length of the quoted text that a text begins with; 0 when it does not end.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return 0
}

// Relaxed reads a value of JSON, or one of Python that JSON has too: 'text', True, False, None.
func Relaxed(text string) (codec.Raw, bool) {
	text = strings.TrimSpace(text)
	if raw := codec.Raw(text); raw.IsValid() {
		return raw, true
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			n := quoted(text[i:])
			if n == 0 {
				return nil, false
			}
			inner := text[i+1 : i+n-1]
			if c == '\'' {
				inner = strings.NewReplacer(`\'`, `'`, `\\`, `\\`, `\"`, `\"`, `"`, `\"`).Replace(inner)
			}
			b.WriteString(`"` + inner + `"`)
			i += n
		case c >= 'A' && c <= 'Z':
			word := text[i : i+len(text[i:])-len(strings.TrimLeft(text[i:],
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))]
			own, ok := pythonWords[word]
			if !ok {
				return nil, false
			}
			b.WriteString(own)
			i += len(word)
		default:
			b.WriteByte(c)
			i++
		}
	}
	raw := codec.Raw(b.String())
	return raw, raw.IsValid()
}

var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}
