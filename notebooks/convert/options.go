package convert

import (
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/percent"
)

// Jupytext writes the metadata of a cell as NAME=JSON, a name alone where the value is null, or as one object of JSON.

const unreadable = "incorrectly_encoded_metadata" // where Jupytext keeps options that it cannot read

var (
	identifier = lazyregexp.New(`^[a-zA-Z_.]+[a-zA-Z0-9_.]*$`)
	fieldName  = lazyregexp.New(`^[a-zA-Z0-9_.@/-]+$`)
)

// titledOptions splits the title from the metadata.
func titledOptions(text string) (title string, fields Object) {
	text = strings.TrimSpace(text)
	brace, equals := strings.IndexByte(text, '{'), strings.IndexByte(text, '=')
	if brace >= 0 && (equals < 0 || brace < equals) {
		return strings.TrimSpace(text[:brace]), jsonFields(text[brace:])
	}
	words := strings.Split(text, " ")
	if equals >= 0 {
		words = strings.Split(text[:equals], " ")
		for len(words) > 0 && words[len(words)-1] == "" {
			words = words[:len(words)-1]
		}
		if len(words) > 0 {
			words = words[:len(words)-1]
		}
	}
	for len(words) > 0 && (strings.TrimSpace(words[len(words)-1]) == "" ||
		strings.HasPrefix(words[len(words)-1], ".")) {
		words = words[:len(words)-1]
	}
	title = strings.Join(words, " ")
	return title, pairFields(text[len(title):])
}

// fenceOptions separates the language from the metadata.
func fenceOptions(text string) Object {
	text = strings.TrimSpace(text)
	brace, equals := strings.IndexByte(text, '{'), strings.IndexByte(text, '=')
	if brace >= 0 && (equals < 0 || brace < equals) {
		return jsonFields(text[brace:])
	}
	return pairFields(text)
}

func jsonFields(text string) Object {
	raw, ok := percent.Relaxed(text)
	if !ok || raw[0] != '{' {
		return Object{{unreadable, quoted(text)}}
	}
	return objectOf(raw)
}

// pairFields reads the pairs from the right, as Jupytext does: a value goes as far as it can be read.
func pairFields(text string) Object {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if len(text) > percent.MaxOptions {
		return Object{{unreadable, quoted(text)}}
	}
	space := strings.LastIndexByte(text, ' ')
	if word := text[space+1:]; !strings.HasPrefix(text, "--") && identifier.MatchString(word) {
		var o Object
		if space > 0 {
			o = pairFields(text[:space])
		}
		o.Set(word, codec.Raw("null"))
		return o
	}
	for at := strings.LastIndexByte(text, '='); at >= 0; at = strings.LastIndexByte(text[:at], '=') {
		before := strings.LastIndexByte(strings.TrimRight(text[:at], " "), ' ')
		name := strings.TrimSpace(text[before+1 : at])
		if !fieldName.MatchString(name) {
			continue
		}
		value, ok := percent.Relaxed(text[at+1:])
		if !ok {
			continue
		}
		var o Object
		if before > 0 {
			o = pairFields(text[:before])
		}
		o.Set(name, value)
		return o
	}
	return Object{{unreadable, quoted(text)}}
}

// optionText writes metadata behind a language or a title.
func optionText(head string, fields Object) string {
	parts := make([]string, 0, len(fields)+1)
	if head != "" {
		parts = append(parts, head)
	}
	odd := false // a name not allowed before a =
	for _, f := range fields {
		odd = odd || !fieldName.MatchString(f.Name)
	}
	if odd {
		return strings.Join(append(parts, spaced(fields.Raw())), " ")
	}
	for _, f := range fields {
		switch {
		case f.Name == unreadable:
			parts = append(parts, textOf(f.Value))
		case string(f.Value) == "null" && identifier.MatchString(f.Name):
			parts = append(parts, f.Name)
		default:
			parts = append(parts, f.Name+"="+spaced(f.Value))
		}
	}
	return strings.Join(parts, " ")
}

// readableTitle takes the title out of the fields if it can be written before them.
func (o Object) readableTitle() (title string, rest Object) {
	title = o.text("title")
	if title == "" || strings.ContainsAny(title, "{=\n") || strings.TrimSpace(title) != title ||
		strings.Contains(title, "-->") {
		return "", o
	}
	return title, o.without("title")
}
