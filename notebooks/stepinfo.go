package notebooks

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Attribute is an option that a step sets itself. Value is a string, a list of strings, an int, a time.Duration or a
// map of strings.
type Attribute struct {
	Name  string
	Value any
}

// Text returns the value as an info string has it, not quoted; separator joins a list.
func (a Attribute) Text(separator string) string {
	switch v := a.Value.(type) {
	case time.Duration:
		return v.Round(time.Millisecond).String()
	case []string:
		return strings.Join(v, separator)
	}
	return fmt.Sprint(a.Value)
}

// Attributes returns the options that the step sets itself, in the canonical order.
func (s *Step) Attributes() []Attribute {
	var out []Attribute
	add := func(name string, given bool, value any) {
		if given {
			out = append(out, Attribute{name, value})
		}
	}
	var needs []string
	for _, id := range s.Needs {
		needs = append(needs, string(id))
	}
	add("timeout", s.Timeout > 0, s.Timeout)
	add("cwd", s.Cwd != "", s.Cwd)
	add("kernel", s.Kernel != "", s.Kernel)
	add("needs", needs != nil, needs)
	add("if", s.If != "", s.If)
	if s.ExpectExit != nil {
		add("expect-exit", true, *s.ExpectExit)
	}
	add("retries", s.Retries > 0, s.Retries)
	add("backend", s.Backend != "", s.Backend)
	add("attempts", s.Attempts > 0, s.Attempts)
	add("normalize", len(s.Normalize) > 0, s.Normalize)
	add("output", s.Output != "", s.Output)
	add("env", len(s.Env) > 0, s.Env)
	return out
}

// Info returns the info string of a fence that is this step, in the canonical spelling: its language, id, tags and
// attributes.
func (s *Step) Info() string {
	var b strings.Builder
	b.WriteString(cmp.Or(s.Lang, "text") + " {#" + string(s.ID))
	for _, tag := range s.Tags {
		if Slug(tag) == tag && strings.IndexByte(tag, '.') < 0 { // others have no meaning, and no spelling as a class
			b.WriteString(" ." + tag)
		}
	}
	pair := func(name, value string) { b.WriteString(" " + name + "=" + infoValue(value)) }
	for _, a := range s.Attributes() {
		v, isMap := a.Value.(map[string]string)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			pair(a.Name+"."+name, v[name])
		}
		if !isMap {
			pair(a.Name, a.Text(" "))
		}
	}
	b.WriteString("}")
	return b.String()
}

// SameWork reports whether two steps do the same: what differs at most is how their output is shown and compared.
func (s *Step) SameWork(other *Step) bool {
	work := func(s Step) Step {
		s.Output, s.Normalize, s.Attempts = "", nil, 0
		s.Tags = slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool { return tag == TagHideOutput })
		return s
	}
	a, b := work(*s), work(*other)
	return a.Info() == b.Info() && bytes.Equal(a.Code, b.Code) && a.Timeout == b.Timeout &&
		slices.Equal(a.Tags, b.Tags) && maps.Equal(a.Env, b.Env) && a.Apart == b.Apart && a.Parameters == b.Parameters
}

// infoValue quotes a value where a bare word would end early. Info strings are one line.
func infoValue(value string) string {
	value = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(value)
	if value != "" && strings.Trim(value,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,") == "" {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
