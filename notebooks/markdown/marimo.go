package markdown

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// marimo writes ```python {.marimo name="load" hide_code="true"}, and ```{.python.marimo} in its older versions. A cell
// of SQL is a call of mo.sql in Python.

const marimoClass = "marimo"

var marimoSyntax = syntax{
	form: notebooks.FormMarimo,
	info: func(in *info, h head) bool {
		word, isWord := strings.CutSuffix(h.word, "."+marimoClass)
		switch {
		case isWord:
			in.lang = strings.ToLower(strings.TrimPrefix(word, "."))
			in.readBraces("{"+h.inner+"}", h.at-1)
		case strings.HasPrefix(h.rest, "{") && strings.Contains(h.rest, "."+marimoClass):
			var own info
			if own.readBraces(h.rest, h.restAt); !own.hasTag(marimoClass) {
				return false
			}
			own.lang = in.lang
			*in = own
		default:
			return false
		}
		in.tags = slices.DeleteFunc(in.tags, func(t mark) bool { return t.text == marimoClass })
		return true
	},
	runs: func(*parser, *blocks.Fence, *info) bool { return true },
	apply: func(_ *parser, s *notebooks.Step, a attr) bool {
		tag, known := marimoOptions[a.key]
		if known && tag != "" && strings.EqualFold(a.val, "true") {
			addTag(s, tag)
		}
		return known
	},
	language: marimoLanguage,
}

// marimoOptions are the options of marimo's cells, with the tags that they stand for.
var marimoOptions = map[string]string{"hide_code": notebooks.TagHideInput, "hide_output": notebooks.TagHideOutput,
	"disabled": notebooks.TagSkip, "column": "", "unparsable": "", "query": "", "output": "", "engine": "",
	"expand_output": ""}

// marimoLanguage writes SQL as marimo does: a call that leaves its table under the name query=.
func marimoLanguage(r *parser, s *notebooks.Step, f *blocks.Fence) {
	if s.Lang != "sql" {
		s.Lang = notebooks.KernelLanguage(s.Lang)
		return
	}
	text := string(r.nb.Source[f.Info.Start:f.Info.End])
	var in info
	in.readBraces(text[strings.IndexByte(text, '{'):], 0)
	table, more := "_df", ""
	if query, ok := in.attr("query"); ok {
		table = query.val
	}
	if hidden, ok := in.attr("hide_output"); ok && strings.EqualFold(hidden.val, "true") {
		more += ", output=False"
	}
	if engine, ok := in.attr("engine"); ok {
		more += ", engine=" + engine.val
	}
	s.Lang = "python"
	s.Code = fmt.Appendf(nil, "%s = mo.sql(f\"\"\"\n%s\"\"\"%s)\n", table, s.Code, more)
	s.CodeLine--
}

// MarimoOrder is what a reader of a marimo notebook should know of any run.
const MarimoOrder = "the cells run once each, in the order of the file; marimo orders them by the names that they use"
