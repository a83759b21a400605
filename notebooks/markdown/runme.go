package markdown

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
)

// Runme annotates a fence with JSON, sh {"name":"build"}, or with pairs, sh { name=build }. A fence with a name is a
// step; an id alone is a number that Runme's editor gave to every fence, README examples included.

var runmeSyntax = syntax{
	form: notebooks.FormRunme,
	info: func(in *info, h head) bool {
		object, ok := strings.CutPrefix(h.rest, "{")
		if !ok || !strings.HasPrefix(strings.TrimLeft(object, " \t"), `"`) {
			return false
		}
		in.readRunmeJSON(h.rest, h.restAt)
		return true
	},
	runs:  func(_ *parser, _ *blocks.Fence, in *info) bool { return in.isNamed() },
	apply: applyRunme,
}

func (in *info) readRunmeJSON(text string, base int) {
	var object map[string]any
	if err := codec.Unmarshal([]byte(text), &object); err != nil {
		in.wrong = append(in.wrong, slip{base, "the JSON of the info string cannot be read",
			"write {\"name\":\"build\"}, each key once"})
		// A name shows that the author meant a step, so the mistake is reported.
		if strings.Contains(text, `"name"`) {
			in.attrs = append(in.attrs, attr{key: "name", at: base})
		}
		return
	}
	for key, value := range object {
		a := attr{key: key, val: fmt.Sprint(value), at: base + max(strings.Index(text, `"`+key+`"`), 0)}
		a.set(value)
		in.attrs = append(in.attrs, a)
	}
	sort.Slice(in.attrs, func(i, j int) bool { return in.attrs[i].at < in.attrs[j].at })
}

// runmeKeys are Runme's own, with what is said of one that would change what the step does; "" for those that tell an
// editor or a terminal how to show it.
var runmeKeys = map[string]string{
	"background":             "only shells run it so",
	"interactive":            "there is no terminal to type into",
	"promptEnv":              "nobody is asked for a value; declare a parameter",
	"interpreter":            "the language of the fence says what runs it",
	"transform":              "",
	"id":                     "",
	"mimeType":               "",
	"closeTerminalOnSuccess": "",
	"terminalRows":           "",
	"openTerminalOnError":    "",
	"terminateOnExit":        "",
	"category":               "",
	"excludeFromRunAll":      "",
	"tag":                    "",
}

// applyRunme applies an attribute of Runme's; false when it is not one.
func applyRunme(r *parser, s *notebooks.Step, a attr) bool {
	words, ok := runmeKeys[a.key]
	if !ok {
		return false
	}
	off := a.val == "" || a.val == "false" || a.val == "no" || a.val == "0"
	switch a.key {
	case "background":
		if lang := notebooks.KernelLanguage(s.Lang); lang == "bash" || lang == "sh" || lang == "zsh" {
			if !off && len(bytes.TrimSpace(s.Code)) > 0 { // lives until the end of the run, as all that steps start
				s.Code = fmt.Appendf(nil, "{ %s\n} &\n", bytes.TrimRight(s.Code, "\n"))
			}
			return true
		}
	case "excludeFromRunAll":
		if !off {
			addTag(s, notebooks.TagSkip)
		}
		return true
	case "tag", "category":
		for _, t := range a.words() {
			addTag(s, t)
		}
		return true
	case "interpreter":
		off = off || a.val == s.Lang || strings.HasSuffix(a.val, "/"+s.Lang)
	}
	if words != "" && !off {
		r.warn(a.at, s.ID, fmt.Sprintf("%s=%s of Runme has no effect: %s", a.key, a.val, words), "")
	}
	return true
}
