package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// Inspect prints the parameters, steps and gates of a notebook, and who set the gates. bound, if not nil, holds the
// values that a run would use.
func Inspect(w io.Writer, nb *notebooks.Notebook, bound []notebooks.Bound, narrowed []runs.NarrowedData,
	color bool) error {
	p := page{w: w, color: color}
	p.printf("%s\n", shown(cmp.Or(nb.Front.Title, nb.Name)))
	if nb.Front.Description != "" {
		p.printf("%s\n", shown(nb.Front.Description))
	}
	values := map[string]notebooks.Bound{}
	for _, b := range bound {
		values[b.Param.Name] = b
	}
	var params table
	for _, q := range nb.Params {
		params.add(cell{shown(q.Name), green}, cell{typeWords(q), ""}, cell{shown(valueWords(q, values)), ""},
			cell{shown(helpWords(q)), dim})
	}
	p.section("Parameters", &params)
	var steps table
	for _, s := range nb.Steps {
		steps.add(cell{fmt.Sprintf("%d", s.Index+1), dim}, cell{shown(string(s.ID)), green}, cell{shown(s.Lang), ""},
			cell{shown(tagWords(s)), ""}, cell{shown(stepWords(s)), dim})
	}
	p.section("Steps", &steps)
	var gates table
	for _, g := range gatesOf(nb.Front) {
		gates.add(cell{g[0], dim}, cell{shown(g[1]), ""})
	}
	p.section("Gates", &gates)
	p.narrowed(narrowed)
	for _, warning := range nb.Warnings {
		p.printf("\n%s %s\n", paint("warning:", yellow, color), shown(warning.Error()))
	}
	return p.err
}

func typeWords(q notebooks.Param) string {
	return shown(cmp.Or(q.Declared, string(q.Type)))
}

// valueWords returns the value that a run would use and its origin, or the default. Secrets are masked.
func valueWords(q notebooks.Param, values map[string]notebooks.Bound) string {
	secret := q.Type == notebooks.TypeSecret
	if b, ok := values[q.Name]; ok && b.Given {
		if secret {
			return "= *** (" + b.From + ")"
		}
		return "= " + plain.Cut(string(b.Value.JSON()), 100) + " (" + b.From + ")"
	}
	switch {
	case q.HasDefault && secret:
		return "= ***"
	case q.DefaultSrc != "" && !secret:
		return "= " + plain.Cut(q.DefaultSrc, 100)
	case q.HasDefault:
		return "= " + plain.Cut(string(q.Default.JSON()), 100)
	case q.Required:
		return "required"
	default:
		return ""
	}
}

func helpWords(q notebooks.Param) string {
	var words, one []string
	if q.Help != "" {
		words = append(words, q.Help)
	}
	for _, v := range q.Enum {
		one = append(one, string(v.JSON()))
	}
	if one != nil {
		words = append(words, "one of "+strings.Join(one, ", "))
	}
	if q.Min != nil {
		words = append(words, "at least "+string(q.Min.JSON()))
	}
	if q.Max != nil {
		words = append(words, "at most "+string(q.Max.JSON()))
	}
	if q.Env != "" {
		words = append(words, "or $"+q.Env)
	}
	return strings.Join(words, "; ")
}

func tagWords(s *notebooks.Step) string {
	var words []string
	for _, tag := range s.Tags {
		words = append(words, "."+tag)
	}
	return strings.Join(words, " ")
}

// stepWords lists the attributes that a step sets itself.
func stepWords(s *notebooks.Step) string {
	var words []string
	for _, a := range s.Attributes() {
		if a.Name != "env" {
			words = append(words, a.Name+"="+a.Text(","))
		}
	}
	return strings.Join(words, " ")
}

// gatesOf lists the rules that a run must keep, and the evidence it must leave.
func gatesOf(f notebooks.Front) [][2]string {
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	if f.Timeout > 0 {
		add("timeout", f.Timeout.String()+" a step")
	}
	if f.RunTimeout > 0 {
		add("run-timeout", f.RunTimeout.String())
	}
	add("allow", strings.Join(f.Allow, ", "))
	add("forbid", strings.Join(f.Forbid, ", "))
	add("limits", bounds(bound{"%d files", int64(f.Limits.Files)}, bound{"%d lines", int64(f.Limits.Lines)},
		bound{"%d bytes", f.Limits.Bytes}))
	add("require", strings.Join(f.Require, ", "))
	add("forbidden", strings.Join(f.ForbiddenActions, ", "))
	add("mode", f.Mode)
	add("risk", f.Risk)
	add("approval", f.Approval)
	add("sandbox", f.Sandbox)
	add("network", f.Network)
	add("processes", f.Processes)
	r := &f.Resources
	add("resources", bounds(bound{"memory %d bytes", r.Memory}, bound{"%d processes", r.Processes},
		bound{"files of %d bytes", r.FileSize}, bound{"%d open files", r.OpenFiles}))
	return out
}

// bound is a limit and the words for it; 0 is none.
type bound struct {
	words string
	limit int64
}

func bounds(list ...bound) string {
	var words []string
	for _, b := range list {
		if b.limit > 0 {
			words = append(words, fmt.Sprintf(b.words, b.limit))
		}
	}
	return strings.Join(words, ", ")
}

// narrowed lists the restrictions by policies and the command line. It prints nothing if only the notebook restricts
// itself.
func (p *page) narrowed(list []runs.NarrowedData) {
	var t table
	others := false
	for _, n := range list {
		others = others || n.By != runs.ByNotebook
		instead := ""
		if len(n.InsteadOf) > 0 {
			instead = "instead of " + valueOf(n.InsteadOf)
		}
		t.add(cell{shown(n.Key), dim}, cell{shown(valueOf(n.Value)), ""}, cell{"by " + shown(n.By), ""},
			cell{shown(instead), dim})
	}
	if others {
		p.section("Narrowed", &t)
	}
}

// valueOf formats a JSON string, or a list of strings.
func valueOf(raw codec.Raw) string {
	var text string
	if codec.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if codec.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}
