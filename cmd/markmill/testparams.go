package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// elidedValue is what stands in an output notebook for a value that is too long to be shown.
var elidedValue = lazyregexp.New(`^… [\d,]+ bytes?$`)

// namedPath is a name that stands in an output notebook for a path of the machine.
var namedPath = lazyregexp.New(`<(worktree|tmp|work|source|home)>`)

// paramsAgain are the values that were given to the run that left an output notebook, to be given again: those of the
// manifest, but what was the notebook's own default and what the caller gives now. paths are the machine's, by the
// names that stand for them.
func paramsAgain(file string, s *storedOutput, nb *notebooks.Notebook, given []notebooks.Given, paths map[string]string) ([]notebooks.Given, error) {
	if s.foreign() {
		return nil, nil
	}
	shown, listed := s.given()
	var out []notebooks.Given
	var errs notebooks.ErrorList
	for _, m := range s.manifest.Parameters {
		if slices.ContainsFunc(given, func(g notebooks.Given) bool { return g.Name == m.Name }) {
			continue
		}
		at := slices.IndexFunc(nb.Params, func(p notebooks.Param) bool { return p.Name == m.Name })
		declared := notebooks.Param{Name: m.Name, Type: notebooks.TypeAny}
		if at >= 0 {
			declared = nb.Params[at]
		}
		if listed && !slices.Contains(shown, m.Name) || !listed && at >= 0 && isDefault(declared, m.Value) || declared.Type == notebooks.TypeSecret {
			continue
		}
		g, err := paramAgain(file, declared, m.Value, paths)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if at < 0 { // it was let in without a declaration, and is again
			g.Source = "inject"
		}
		out = append(out, g)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// isDefault says that a recorded value is what the notebook itself gives.
func isDefault(p notebooks.Param, value codec.Raw) bool {
	if !p.HasDefault {
		return string(value) == "null" && !p.Required
	}
	a, err := codec.Marshal(p.Default.JSON())
	if err != nil {
		return false
	}
	b, err := codec.Marshal(value)
	return err == nil && bytes.Equal(a, b)
}

// paramAgain is one recorded value as one that is given. A text is read by the declared type, as -p
// reads it; whatever else JSON says is the value.
func paramAgain(file string, p notebooks.Param, value codec.Raw, paths map[string]string) (notebooks.Given, *notebooks.Error) {
	g := notebooks.Given{Name: p.Name, Source: "manifest", File: file}
	bad := func(why string) *notebooks.Error {
		return &notebooks.Error{Kind: notebooks.KindParameter, File: file, Msg: fmt.Sprintf("the value of the parameter %s cannot be used again: %s", p.Name, why),
			Hint: fmt.Sprintf("give it: -p %s=VALUE", p.Name)}
	}
	text := ""
	isText := codec.Unmarshal(value, &text) == nil && value.Kind() == '"'
	if isText && elidedValue.MatchString(text) {
		return g, bad("the output notebook holds only its length")
	}
	missing := ""
	value = codec.Raw(namedPath.ReplaceAllStringFunc(string(value), func(name string) string {
		path, ok := paths[name]
		if !ok {
			missing = name
			return name
		}
		quoted, err := codec.Marshal(path)
		if err != nil {
			missing = name
			return name
		}
		return strings.Trim(string(quoted), `"`)
	}))
	if missing != "" {
		return g, bad(fmt.Sprintf("a path in it is only there by the name %s", missing))
	}
	switch p.Type {
	case notebooks.TypeString, notebooks.TypePath, notebooks.TypeDuration, notebooks.TypeDate, notebooks.TypeBytes, notebooks.TypeFloat:
		if isText && codec.Unmarshal(value, &g.Text) == nil {
			return g, nil
		}
	}
	name, err := codec.Marshal(p.Name)
	if err != nil {
		return g, bad(err.Error())
	}
	values, err := notebooks.ParseGivenYAML("manifest", file, fmt.Appendf(nil, "{%s: %s}", name, value))
	if err != nil || len(values) != 1 {
		return g, bad("it is not JSON")
	}
	return values[0], nil
}
