package notebooks

import "strings"

// info is an info string, split by its syntax; what it means is decided later. Offsets are in the source.
type info struct {
	form  Form // how it is spelled; "" for a bare language and for what is nobody's
	lang  string
	id    mark // {#id}
	tags  []mark
	attrs []attr
	bare  []mark // words that are neither
	wrong []slip

	noLang bool // {#id .tag}: Pandoc's way
}

// mark is a word and its offset.
type mark struct {
	text string
	at   int
}

// attr is one key and its value. Lists and mappings of other forms come as list ("a", "NAME=value").
type attr struct {
	key  string
	val  string
	list []string
	at   int
}

// slip is a mistake that matters only if the fence is a step.
type slip struct {
	at        int
	msg, hint string
}

// parseInfo reads an info string at offset base.
func parseInfo(text string, base int) info {
	if strings.HasPrefix(text, "{") {
		return parseBraceFirst(text, base)
	}
	end := strings.IndexAny(text, " \t{")
	if end < 0 {
		return info{lang: strings.ToLower(text)}
	}
	in := info{lang: strings.ToLower(text[:end])}
	rest := strings.TrimLeft(text[end:], " \t")
	base += len(text) - len(rest)
	switch {
	case rest == "":
	case looksLikeJSON(rest):
		in.form = FormRunme
		in.readRunmeJSON(rest, base)
	case rest[0] == '{':
		in.readBraces(rest, base)
	default:
		in.readJupytext(rest, base)
	}
	return in
}

// parseBraceFirst reads the forms that begin with a brace.
func parseBraceFirst(text string, base int) info {
	var in info
	if strings.HasPrefix(text, "{{") { // Quarto: shown, not run
		return in
	}
	end := closingBrace(text)
	inner := text[1:max(end, 1)]
	if end < 0 {
		inner = text[1:]
	}
	pad := len(inner) - len(strings.TrimLeft(inner, " \t"))
	inner = inner[pad:]
	word := inner
	if i := strings.IndexAny(inner, " \t,}"); i >= 0 {
		word = inner[:i]
	}
	switch {
	case word == "code-cell":
		in.form = FormMyST
		if end >= 0 {
			in.lang = strings.ToLower(strings.TrimSpace(text[end+1:]))
		}
	case strings.HasPrefix(word, "#") || strings.HasPrefix(word, "."):
		in.readBraces(text, base)
		in.noLang = true
		return in
	case runnable(word):
		in.form, in.lang = FormQuarto, strings.ToLower(word)
		if strings.HasPrefix(inner, "wolfram language") { // Jupytext's name of it
			word = "wolfram language"
		}
		in.readKnitr(inner[len(word):], base+1+pad+len(word))
	default: // a directive, or raw text for a format: {note}, {=html}, {raw-cell}
		return in
	}
	if end < 0 {
		in.wrong = append(in.wrong, slip{base, "the brace of the info string is never closed",
			"add } at the end of the line"})
	}
	return in
}

// readBraces reads {#id .tag key=value key="quoted value"}.
func (in *info) readBraces(text string, base int) {
	in.form = FormNative
	t := tokens{text: text, pos: 1}
	for {
		t.skip(" \t")
		at := base + t.pos
		switch {
		case t.done():
			if len(in.wrong) == 0 { // an unclosed quote took the brace, and is reported
				in.wrong = append(in.wrong, slip{base, "the brace of the info string is never closed",
					"add } at the end of the line"})
			}
			return
		case t.peek() == '}':
			if rest := strings.TrimSpace(text[t.pos+1:]); rest != "" {
				in.wrong = append(in.wrong, slip{at + 1, "text stands after the closing brace: " + quote(rest),
					"move it into the braces, or take it out"})
			}
			return
		case t.peek() == '#':
			t.pos++
			id := mark{t.until(" \t}"), at + 1}
			if in.id.text != "" {
				in.wrong = append(in.wrong, slip{at, "a second id, #" + id.text, "a step has one id"})
				continue
			}
			if id.text == "" {
				in.wrong = append(in.wrong, slip{at, "an id without a name", "write #name"})
			}
			in.id = id
		case t.peek() == '.':
			t.pos++
			tag := mark{t.until(" \t}"), at + 1}
			if tag.text == "" {
				in.wrong = append(in.wrong, slip{at, "a tag without a name", "write .name"})
				continue
			}
			in.tags = append(in.tags, tag)
		default:
			in.readPair(&t, base, " \t}")
		}
	}
}

// readPair reads key=value, or a bare word.
func (in *info) readPair(t *tokens, base int, stops string) {
	at := base + t.pos
	key := t.until(stops + "=")
	if t.done() || t.peek() != '=' {
		if key == "" { // a stop character that the caller does not know: never loop
			key = string(t.peek())
			t.pos++
		}
		in.bare = append(in.bare, mark{key, at})
		return
	}
	t.pos++
	val, ok := t.value(stops)
	if !ok {
		in.wrong = append(in.wrong, slip{at, "the quote of " + key + "= is never closed", "add \" at the end of the value"})
	}
	if key == "" {
		in.wrong = append(in.wrong, slip{at, "a value without a name", "write name=value"})
		return
	}
	in.attrs = append(in.attrs, attr{key: key, val: val, at: at})
}

// isNamed reports whether the fence has an id in any syntax.
func (in *info) isNamed() bool {
	if in.id.text != "" {
		return true
	}
	_, ok := in.attr("name")
	return ok
}

func (in *info) attr(key string) (attr, bool) {
	for _, a := range in.attrs {
		if a.key == key {
			return a, true
		}
	}
	return attr{}, false
}

func (in *info) hasTag(tag string) bool {
	for _, t := range in.tags {
		if ownTag(t.text) == tag {
			return true
		}
	}
	for _, a := range in.attrs {
		if a.key != "tags" {
			continue
		}
		for _, t := range a.words() {
			if ownTag(t) == tag {
				return true
			}
		}
	}
	return false
}

// words are the items of a list, or of text with commas or spaces between.
func (a attr) words() []string {
	if a.list != nil {
		return a.list
	}
	return strings.FieldsFunc(a.val, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}
