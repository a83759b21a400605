package terminal

import (
	"fmt"
	"io"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// Inspect prints the parameters, steps and gates of a notebook, and who set the gates. bound, if not nil, holds the
// values that a run would use.
func Inspect(w io.Writer, nb *notebooks.Notebook, bound []notebooks.Bound, narrowed []runs.NarrowedData,
	color bool) error {
	p := page{w: w, color: color}
	title := nb.Front.Title
	if title == "" {
		title = nb.Name
	}
	p.printf("%s\n", shown(title))
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
	if q.Declared != "" {
		return shown(q.Declared)
	}
	return string(q.Type)
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
	var words []string
	if q.Help != "" {
		words = append(words, q.Help)
	}
	if len(q.Enum) > 0 {
		var one []string
		for _, v := range q.Enum {
			one = append(one, string(v.JSON()))
		}
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
	add := func(name, value string) { words = append(words, name+"="+value) }
	if s.Timeout > 0 {
		add("timeout", s.Timeout.String())
	}
	if s.Cwd != "" {
		add("cwd", s.Cwd)
	}
	if s.Kernel != "" {
		add("kernel", s.Kernel)
	}
	if len(s.Needs) > 0 {
		ids := make([]string, len(s.Needs))
		for i, id := range s.Needs {
			ids[i] = string(id)
		}
		add("needs", strings.Join(ids, ","))
	}
	if s.If != "" {
		add("if", s.If)
	}
	if s.ExpectExit != nil {
		add("expect-exit", fmt.Sprint(*s.ExpectExit))
	}
	if s.Retries > 0 {
		add("retries", fmt.Sprint(s.Retries))
	}
	if s.Output != "" {
		add("output", s.Output)
	}
	if len(s.Normalize) > 0 {
		add("normalize", strings.Join(s.Normalize, ","))
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
	var limits []string
	if f.Limits.Files > 0 {
		limits = append(limits, fmt.Sprintf("%d files", f.Limits.Files))
	}
	if f.Limits.Lines > 0 {
		limits = append(limits, fmt.Sprintf("%d lines", f.Limits.Lines))
	}
	if f.Limits.Bytes > 0 {
		limits = append(limits, fmt.Sprintf("%d bytes", f.Limits.Bytes))
	}
	add("limits", strings.Join(limits, ", "))
	add("require", strings.Join(f.Require, ", "))
	add("forbidden", strings.Join(f.ForbiddenActions, ", "))
	add("mode", f.Mode)
	add("risk", f.Risk)
	add("approval", f.Approval)
	add("sandbox", f.Sandbox)
	add("network", f.Network)
	add("processes", f.Processes)
	var resources []string
	for _, r := range []struct {
		words string
		value int64
	}{{"memory %d bytes", f.Resources.Memory}, {"%d processes", f.Resources.Processes}, {"files of %d bytes",
		f.Resources.FileSize}, {"%d open files", f.Resources.OpenFiles}} {
		if r.value > 0 {
			resources = append(resources, fmt.Sprintf(r.words, r.value))
		}
	}
	add("resources", strings.Join(resources, ", "))
	return out
}
