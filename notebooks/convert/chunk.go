package convert

import (
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/percent"
)

// R Markdown writes a chunk's options as R: {python label, echo=FALSE, fig.width=10}.

const codeOfR = "#R_CODE#" // how Jupytext keeps a value that only R can read

// visibility are the options that Jupytext keeps as tags of Jupyter Book.
var visibility = []struct{ name, value, tag string }{
	{"include", "FALSE", "remove_cell"}, {"echo", "FALSE", "remove_input"}, {"results", "'hide'", "remove_output"},
	{"results", `"hide"`, "remove_output"},
}

// chunkOptions reads the text inside the braces.
func chunkOptions(text string) (lang string, fields Object) {
	at := strings.IndexAny(text+" ", " \t,")
	lang = text[:at]
	if rest, ok := strings.CutPrefix(text, "wolfram language"); ok {
		lang, at = "wolfram language", len(text)-len(rest)
	}
	if lang == "r" {
		lang = "R"
	}
	var tags []string
next:
	for i, option := range splitOptions(strings.Trim(text[at:], " ,\t")) {
		name, value, given := strings.Cut(option, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case option == "":
			continue
		case !given && i == 0:
			fields.Set("name", quoted(name))
			continue
		case !given:
			name, value = "", name
		}
		for _, v := range visibility {
			if v.name == name && v.value == value {
				tags = append(tags, v.tag)
				fields.Set("tags", textList(tags))
				continue next
			}
		}
		fields.Set(name, valueOfR(name, value))
		if name == "tags" {
			tags = fields.texts("tags")
		}
	}
	return lang, fields
}

// splitOptions splits options at the commas outside of brackets and quotes.
func splitOptions(text string) []string {
	var all []string
	depth, start := 0, 0
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote && text[i-1] != '\\' {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			all = append(all, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(all, strings.TrimSpace(text[start:]))
}

func valueOfR(name, value string) codec.Raw {
	switch value {
	case "TRUE", "T":
		return codec.Raw("true")
	case "FALSE", "F":
		return codec.Raw("false")
	}
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return quoted(value[1 : n-1])
	}
	list := value
	if inner, ok := strings.CutPrefix(value, "c("); ok && strings.HasSuffix(inner, ")") {
		list = "[" + inner[:len(inner)-1] + "]"
	} else if inner, ok := strings.CutPrefix(value, "list("); ok && strings.HasSuffix(inner, ")") {
		list = "[" + inner[:len(inner)-1] + "]"
	}
	if raw, ok := percent.Relaxed(list); ok {
		return raw
	}
	if name == "name" {
		return quoted(value)
	}
	return quoted(codeOfR + value)
}

// chunkText writes language and metadata as the head of a chunk.
func chunkText(lang string, fields Object) string {
	out := strings.ToLower(lang)
	fields = fields.without() // a copy
	if name := fields.text("name"); name != "" {
		out += " " + name + ","
		fields = fields.without("name")
	}
	tags := fields.texts("tags")
	for _, v := range visibility[:3] {
		for i, tag := range tags {
			if tag == v.tag {
				out += " " + v.name + "=" + v.value + ","
				tags = append(append([]string(nil), tags[:i]...), tags[i+1:]...)
				fields.Set("tags", textList(tags))
				break
			}
		}
	}
	if len(tags) == 0 && len(fields.texts("tags")) == 0 && string(fields.Get("tags")) == "[]" {
		fields = fields.without("tags")
	}
	for _, f := range fields {
		out += " " + strings.TrimSpace(f.Name) + "=" + textOfR(f.Value) + ","
	}
	return strings.TrimSpace(strings.Trim(out, ","))
}

func textOfR(raw codec.Raw) string {
	switch raw[0] {
	case 't':
		return "TRUE"
	case 'f':
		return "FALSE"
	case 'n':
		return "None"
	case '"':
		s := textOf(raw)
		if code, ok := strings.CutPrefix(s, codeOfR); ok {
			return code
		}
		if !strings.Contains(s, `"`) {
			return `"` + s + `"`
		}
		return "'" + s + "'"
	case '[':
		var items []string
		texts := true
		c := codec.NewCursor(raw, 0)
		_, _ = c.Array(func() error {
			span, err := c.Skip()
			item := codec.Raw(span.Of(raw))
			texts = texts && item[0] == '"' && !strings.ContainsAny(textOf(item), `"\`)
			items = append(items, string(item))
			return err
		})
		if texts {
			return "c(" + strings.Join(items, ", ") + ")"
		}
	}
	return inPython(raw)
}
