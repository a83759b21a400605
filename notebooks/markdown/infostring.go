package markdown

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// info is an info string, split by its syntax; what it means is decided later. Offsets are in the source.
type info struct {
	form  notebooks.Form // how it is spelled; "" for a bare language and for what is nobody's
	word  string         // the first one, as it is written; "" in braces
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

// nativeSyntax is Markmill's own form: {#id .tag key=value}, behind the language.
var nativeSyntax = syntax{
	form: notebooks.FormNative,
	info: func(in *info, h head) bool {
		switch {
		case strings.HasPrefix(h.rest, "{"):
			in.readBraces(h.rest, h.restAt)
		case strings.HasPrefix(h.word, "#"), strings.HasPrefix(h.word, "."): // Pandoc's way, without a language
			in.readBraces(h.text, h.base)
			in.noLang = true
		default:
			return false
		}
		return true
	},
	runs: func(r *parser, _ *blocks.Fence, in *info) bool {
		if in.isNamed() || r.stepByTag(in) {
			return true
		}
		r.warnOfOptions(in)
		return false
	},
}

// readBraces reads {#id .tag key=value key="quoted value"}.
func (in *info) readBraces(text string, base int) {
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
		in.wrong = append(in.wrong, slip{at, "the quote of " + key + "= is never closed",
			"add \" at the end of the value"})
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

// words returns the items of a list, or of text with commas or spaces between.
func (a attr) words() []string {
	if a.list != nil {
		return a.list
	}
	return strings.FieldsFunc(a.val, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}
