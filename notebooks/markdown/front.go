package markdown

import (
	"fmt"
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
			} else if near := notebooks.Suggest(word, []string{notebooks.OutputOpen, notebooks.OutputFolded,
				notebooks.OutputHidden}); near != "" {
				r.warn(r.offset(at.base, value.Line, value.Column), "", "output: "+quote(word)+" has no effect",
					fmt.Sprintf("did you mean %s?", near))
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
		if err := read(&nb.Front, value); err != nil {
			shown := key.Value == "title" || key.Value == "description"
			if shown && !native { // other tools have structure there
				continue
			}
			r.mistake(notebooks.KindOption, r.offset(at.base, value.Line, value.Column), "",
				fmt.Sprintf("%s: %v", key.Value, err), "")
		}
	}
}

// unknownKey returns an error in a notebook. A file without a step is a document, and its keys are for whatever shows
// it, as are those of other tools' files; but a likely typo gets a warning.
func (r *parser) unknownKey(native bool, at int, key string) {
	hint := "known are " + strings.Join(frontNames, ", ")
	near := notebooks.Suggest(key, frontNames)
	if near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	msg := fmt.Sprintf("unknown key %s in the front matter", quote(key))
	switch {
	case native && len(r.nb.Steps) > 0 || native && len(r.nb.Params) > 0:
		r.mistake(notebooks.KindOption, at, "", msg, hint)
	case near != "":
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
