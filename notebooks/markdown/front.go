package markdown

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/params"
)

// maxFrontMistakes bounds how many mistakes in the front matter are reported: a file that is not a notebook has
// thousands.
const maxFrontMistakes = 50

// frontPlace is where a front matter is in the source.
type frontPlace struct {
	base  int // the offset that lines and columns of its nodes count from
	lines int // before it
	end   int // offset just after it
}

// readFront reads the keys of the front matter. In Markmill's own form an unknown key is an error; in the files of
// other tools it is theirs.
func (r *parser) readFront(at frontPlace, native bool) {
	nb := r.nb
	if bad := r.header.invalid; bad != nil {
		if native {
			r.mistake(notebooks.KindSyntax, bad.at, "", bad.msg, bad.hint)
		} else {
			r.warn(bad.at, "", bad.msg+"; it is taken for a raw cell", "")
		}
		return
	}
	node := r.header.node
	if node == nil {
		return
	}
	if r.frontKeys == nil {
		r.frontKeys = map[string]bool{}
	}
	seen, earlier := r.frontKeys, len(r.errs)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolve(node.Content[i+1])
		if len(r.errs)-earlier > maxFrontMistakes {
			return
		}
		if seen[key.Value] {
			r.mistake(notebooks.KindOption, r.offset(at.base, key.Line, key.Column), "",
				fmt.Sprintf("the key %s stands twice in the front matter", quote(key.Value)), "keep one")
			continue
		}
		seen[key.Value] = true
		if key.Value == "params" {
			params, errs := params.ParseNode(nb.Name, value, at.lines)
			nb.Params = append(params, nb.Params...)
			r.errs = append(r.errs, errs...)
			r.frontAt = at.end
			continue
		}
		read, ok := frontKeys[key.Value]
		if key.Value == "output" {
			if word := scalar(value); ownOutput(value) {
				nb.Front.Output = word
			} else if hint := notebooks.DidYouMean(word, []string{notebooks.OutputOpen, notebooks.OutputFolded,
				notebooks.OutputHidden}); hint != "" {
				r.warn(r.offset(at.base, value.Line, value.Column), "", "output: "+quote(word)+" has no effect", hint)
			}
			continue
		}
		if !ok {
			if !ForeignKey(key.Value) {
				r.unknownKey(native, r.offset(at.base, key.Line, key.Column), key.Value)
			}
			continue
		}
		if key.Value == "secrets" {
			for _, item := range append([]*yaml.Node{value}, value.Content...)[min(1, len(value.Content)):] {
				line, col := nb.Position(r.offset(at.base, item.Line, item.Column))
				nb.Front.SecretsAt = append(nb.Front.SecretsAt, notebooks.Place{Line: line, Col: col})
			}
		}
		err := read(&nb.Front, value)
		line, col := nb.Position(r.offset(at.base, value.Line, value.Column))
		if key.Value == "mode" {
			nb.Front.ModeAt = notebooks.Place{Line: line, Col: col}
		}
		if none := Vacuous(key.Value, value); err == nil && none != nil {
			nb.Refused = append(nb.Refused, &notebooks.Error{Kind: notebooks.KindOption, File: nb.Name,
				Line: line, Col: col, Msg: fmt.Sprintf("%s: %v", key.Value, none)})
		}
		if s := nb.Front.Schedule; key.Value == "schedule" && s != nil {
			s.At = map[string]notebooks.Place{}
			for name, n := range pairsOf(value) {
				line, col := nb.Position(r.offset(at.base, n.Line, n.Column))
				s.At[name.Value] = notebooks.Place{Line: line, Col: col}
			}
		}
		if err != nil {
			shown := key.Value == "title" || key.Value == "description"
			if shown && !native { // other tools have structure there
				continue
			}
			place, hint := value, ""
			if in, ok := errors.AsType[*mistakeAt](err); ok {
				place, hint = in.node, in.hint
			}
			r.mistake(notebooks.KindOption, r.offset(at.base, place.Line, place.Column), "",
				fmt.Sprintf("%s: %v", key.Value, err), hint)
		}
	}
}

// unknownKey returns an error in a notebook. A file without a step is a document, and its keys are for whatever shows
// it, as are those of other tools' files; but a likely typo gets a warning.
func (r *parser) unknownKey(native bool, at int, key string) {
	hint := cmp.Or(notebooks.DidYouMean(key, frontNames), "known are "+strings.Join(frontNames, ", "))
	msg := fmt.Sprintf("unknown key %s in the front matter", quote(key))
	switch {
	case native && len(r.nb.Steps) > 0 || native && len(r.nb.Params) > 0:
		r.mistake(notebooks.KindOption, at, "", msg, hint)
	case notebooks.NearMiss(key, frontNames) != "":
		r.warn(at, "", msg, hint)
	}
}

// ForeignKey reports whether a key belongs to another tool: Jupyter, Quarto, Pandoc, Runme, or a site generator.
func ForeignKey(key string) bool {
	_, ok := foreignKeys[key]
	return ok || strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "header-")
}

var foreignKeys = setOf(
	"abstract", "affiliation", "aliases", "author", "authors", "bibliography", "categories", "category", "citation",
	"csl", "cwd", "date", "date-modified", "draft", "editor", "editor_options", "engine", "execute", "export",
	"exports", "file_format", "filters", "format", "hide_table_of_contents", "id", "image", "jupyter", "jupytext",
	"kernelspec", "keywords", "lang", "language_info", "lastmod", "layout", "license", "mystnb", "myst", "nav_order",
	"number-sections", "orphan", "output", "output-file", "page", "permalink", "pagetitle", "parent", "project",
	"runme", "shell", "sidebar", "sidebar_label", "sidebar_position", "skipPrompts", "slug", "subtitle", "summary",
	"tag", "tags", "template", "terminalRows", "theme", "thumbnail", "toc", "toc-depth", "updated", "url", "version",
	"vignette", "weight", "widgets",
)

// declaredInputs reads the key inputs: a list of patterns of paths in the worktree, and of mappings with one of the
// keys file, env and program.
func declaredInputs(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return errors.New("expected a list of inputs")
	}
	for _, item := range n.Content {
		in := notebooks.DeclaredInput{Kind: notebooks.InputPath}
		switch {
		case item.Kind == yaml.ScalarNode:
			if in.Name = item.Value; in.Name == notebooks.InputHistory {
				in.Kind = notebooks.InputHistory
			}
		case item.Kind == yaml.MappingNode && len(item.Content) == 2:
			in.Kind, in.Name = item.Content[0].Value, item.Content[1].Value
		default:
			return errors.New("expected a list of patterns, and of file: PATH, env: NAME, program: NAME")
		}
		if err := checkInput(in); err != nil {
			return err
		}
		f.Inputs = append(f.Inputs, in)
	}
	return nil
}

func checkInput(in notebooks.DeclaredInput) error {
	switch in.Kind {
	case notebooks.InputPath, notebooks.InputFile, notebooks.InputHistory:
	case notebooks.InputEnv, notebooks.InputProgram:
		if strings.ContainsAny(in.Name, "=/ \t\n") {
			return fmt.Errorf("%s: %q is no name", in.Kind, in.Name)
		}
	default:
		return fmt.Errorf("unknown kind of input %q; known are file, env and program", in.Kind)
	}
	switch {
	case in.Name == "" || strings.ContainsRune(in.Name, 0):
		return fmt.Errorf("%s: expected a name", in.Kind)
	case in.Kind == notebooks.InputPath && (path.IsAbs(in.Name) || strings.HasPrefix(path.Clean(in.Name), "..")):
		return fmt.Errorf("%q is outside the worktree: write file: %s", in.Name, in.Name)
	case in.Kind == notebooks.InputFile && !path.IsAbs(in.Name) && !strings.HasPrefix(in.Name, "~/"):
		return fmt.Errorf("file: %q is relative: for a file of the repository, write the path alone", in.Name)
	}
	return nil
}

// YAMLMapping reads a mapping of YAML. The place of the mistake is in the text, from 1; msg is "" without one. node is
// nil for an empty text.
func YAMLMapping(text []byte) (node *yaml.Node, line, col int, msg string) {
	var docs []yaml.Node
	if err := yaml.Load(text, &docs, yaml.WithAllDocuments()); err != nil {
		line, col, msg = yamlMistake(err)
		return nil, line, col, msg
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 { // nothing, or nothing but comments
		return nil, 0, 0, ""
	}
	if len(docs) > 1 {
		return nil, docs[1].Line, docs[1].Column, "one document was expected, and there is another"
	}
	root := docs[0].Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, 0, 0, ""
	}
	if root.Kind != yaml.MappingNode {
		return nil, root.Line, root.Column, "names and values were expected (name: value), one a line"
	}
	return root, 0, 0, ""
}

// yamlMistake takes place and words out of the library's error.
func yamlMistake(err error) (line, col int, msg string) {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok && len(many.Errors) > 0 {
		err = many.Errors[0]
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		return max(one.Mark.Line, 1), max(one.Mark.Column, 1), one.Message
	}
	return 1, 1, err.Error()
}

// yamlAttr turns one pair of a mapping into an attribute.
func yamlAttr(key, value *yaml.Node, at int) attr {
	value = resolve(value)
	a := attr{key: key.Value, val: value.Value, at: at}
	switch value.Kind {
	case yaml.SequenceNode:
		a.list = []string{}
		for _, item := range value.Content {
			a.list = append(a.list, item.Value)
		}
	case yaml.MappingNode:
		a.list = []string{}
		for i := 0; i+1 < len(value.Content); i += 2 {
			a.list = append(a.list, value.Content[i].Value+"="+value.Content[i+1].Value)
		}
	}
	return a
}

// singleton reads a key, or {key: KEY, overlap: HOW}.
func singleton(f *notebooks.Front, n *yaml.Node) error {
	s := notebooks.Singleton{Overlap: notebooks.Overlaps[0]}
	if n.Kind == yaml.ScalarNode {
		s.Key = n.Value
	} else if n.Kind != yaml.MappingNode {
		return errors.New("expected a key, or {key: KEY, overlap: " + strings.Join(notebooks.Overlaps, "|") + "}")
	}
	if err := members(n, map[string]func(*yaml.Node) error{
		"key":     func(value *yaml.Node) error { return setText(value, &s.Key) },
		"overlap": func(value *yaml.Node) error { return oneOf(value, &s.Overlap, notebooks.Overlaps...) },
	}); err != nil {
		return err
	}
	if s.Key == "" {
		return errors.New("the key is missing: jobs of the same key are not run at the same time")
	}
	f.Singleton = s
	return nil
}
