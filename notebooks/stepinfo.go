package notebooks

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
	pair := func(name, value string) {
		if value != "" {
			b.WriteString(" " + name + "=" + infoValue(value))
		}
	}
	if s.Timeout > 0 {
		pair("timeout", s.Timeout.Round(time.Millisecond).String())
	}
	pair("cwd", s.Cwd)
	pair("kernel", s.Kernel)
	var needs []string
	for _, id := range s.Needs {
		needs = append(needs, string(id))
	}
	pair("needs", strings.Join(needs, " "))
	pair("if", s.If)
	if s.ExpectExit != nil {
		pair("expect-exit", strconv.Itoa(*s.ExpectExit))
	}
	if s.Retries > 0 {
		pair("retries", strconv.Itoa(s.Retries))
	}
	pair("normalize", strings.Join(s.Normalize, " "))
	pair("output", s.Output)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		b.WriteString(" env." + name + "=" + infoValue(s.Env[name]))
	}
	b.WriteString("}")
	return b.String()
}

// SameWork reports whether two steps do the same: what differs at most is how their output is shown and compared.
func (s *Step) SameWork(other *Step) bool {
	work := func(s Step) Step {
		s.Output, s.Normalize = "", nil
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
