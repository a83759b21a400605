package retest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/params"
	"markmill/notebooks/region"
)

// elidedValue is what an output notebook shows for a value that is too long.
var elidedValue = lazyregexp.New(`^… [\d,]+ bytes?$`)

// namedPath is a name that replaces a path of the machine in an output notebook.
var namedPath = lazyregexp.New(`<(worktree|tmp|work|source|home)>`)

// givenAgain are the values that the stored run was given, to be given again: those of the manifest, without the
// notebook's own defaults and without what the caller gives now. paths are the paths of this machine by their names.
func givenAgain(file string, s *stored, nb *notebooks.Notebook, given []params.Given, paths map[string]string) (
	[]params.Given, error) {
	if s.foreign() {
		return nil, nil
	}
	names, listed := s.given()
	var out []params.Given
	var errs notebooks.ErrorList
	for _, m := range s.manifest.Parameters {
		if slices.ContainsFunc(given, func(g params.Given) bool { return g.Name == m.Name }) {
			continue
		}
		at := slices.IndexFunc(nb.Params, func(p notebooks.Param) bool { return p.Name == m.Name })
		declared := notebooks.Param{Name: m.Name, Type: notebooks.TypeAny}
		if at >= 0 {
			declared = nb.Params[at]
		}
		wasGiven := at < 0 || !isDefault(declared, m.Value)
		if listed {
			wasGiven = slices.Contains(names, m.Name)
		}
		if !wasGiven || declared.Type == notebooks.TypeSecret {
			continue
		}
		g, err := asGiven(file, declared, m.Value, paths)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if at < 0 { // it was accepted without a declaration, and must be again
			g.Source = "inject"
		}
		out = append(out, g)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// GivenAgain are the values that the run of an output notebook was given, to be given again to nb. given are those that
// the caller gives now.
func GivenAgain(name string, output []byte, nb *notebooks.Notebook, given []params.Given, eng *engine.Engine,
	repo *worktree.Source) ([]params.Given, error) {
	s := &stored{raw: output}
	if files.IsJupyter(name, output) {
		var err error
		if _, s, err = readJupyter(name, output, false); err != nil || s == nil {
			return nil, err
		}
	} else {
		s.text = region.Strip(name, output)
		s.manifest = s.text.Manifest
	}
	return givenAgain(name, s, nb, given, machinePaths(eng, repo))
}

// isDefault reports whether a recorded value is the notebook's own default.
func isDefault(p notebooks.Param, value codec.Raw) bool {
	if !p.HasDefault {
		return string(value) == "null" && !p.Required
	}
	return codec.Same(p.Default.JSON(), value)
}

// asGiven turns a recorded value into one that is given. A string is read by the declared type, as -p reads it;
// any other JSON is the value.
func asGiven(file string, p notebooks.Param, value codec.Raw, paths map[string]string) (
	params.Given, *notebooks.Error) {
	g := params.Given{Name: p.Name, Source: "manifest", File: file}
	bad := func(why string) *notebooks.Error {
		return &notebooks.Error{Kind: notebooks.KindParameter, File: file,
			Msg:  fmt.Sprintf("the value of the parameter %s cannot be used again: %s", p.Name, why),
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
		quoted, err := codec.Marshal(path)
		if !ok || err != nil {
			missing = name
			return name
		}
		return strings.Trim(string(quoted), `"`)
	}))
	if missing != "" {
		return g, bad(fmt.Sprintf("it contains a path that is recorded only as %s", missing))
	}
	switch p.Type {
	case notebooks.TypeString, notebooks.TypePath, notebooks.TypeDuration, notebooks.TypeDate, notebooks.TypeBytes,
		notebooks.TypeFloat:
		if isText && codec.Unmarshal(value, &g.Text) == nil {
			return g, nil
		}
	}
	name, err := codec.Marshal(p.Name)
	if err != nil {
		return g, bad(err.Error())
	}
	values, err := params.ParseGiven("manifest", file, fmt.Appendf(nil, "{%s: %s}", name, value))
	if err != nil || len(values) != 1 {
		return g, bad("it is not JSON")
	}
	return values[0], nil
}

// Again makes a request for a run of a notebook like the run that left an output: with the values that it was given,
// and without its change where the tree has that already. req has the rest, with the source of the notebook and how
// uncommitted changes count. words say what of the change was taken back. An output that is missing adds nothing.
func Again(ctx context.Context, eng *engine.Engine, repo *worktree.Source, output string, req *engine.Request) (
	words []string, err error) {
	t := &tester{Options{Request: *req}}
	_, out, err := t.read(output)
	if err != nil || out == nil || out.foreign() {
		return nil, err
	}
	nb, err := eng.Parse(*req)
	if err != nil {
		return nil, err
	}
	given, err := givenAgain(slashed(output), out, nb, req.Given, machinePaths(eng, repo))
	if err != nil {
		return nil, err
	}
	req.Given = append(given, req.Given...)
	j := &job{file: files.File{Path: output}, stored: output, output: out}
	err = reverseChange(ctx, j, repo, req)
	return j.words, err
}
