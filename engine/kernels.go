package engine

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"markmill/engine/kernel"
	"markmill/notebooks"
)

// kernels finds kernels by name and language: the repository's own before the built-in ones.
type kernels struct{ cfg Config }

// forStep finds the kernel of a step. A name that was asked for (-k, or the front matter) counts
// for the steps whose language it runs; the others keep their own.
func (t kernels) forStep(lang string, asked ...string) (kernel.Kernel, *notebooks.Error) {
	for _, name := range asked {
		if name == "" {
			continue
		}
		name = jupyterName(name)
		k, ok := t.named(name)
		if !ok {
			return nil, t.unknown(fmt.Sprintf("kernel %q is not known", name), name)
		}
		if lang == "" || t.runs(name, lang) {
			return k, nil
		}
	}
	for _, name := range t.own() {
		if c := t.cfg.Kernels[name]; len(c.Command) > 0 && t.runs(name, lang) {
			return kernel.NewCommand(name, c.Command), nil
		}
	}
	if name, ok := kernel.ForLanguage(lang); ok {
		if k, ok := kernel.Lookup(name); ok {
			return k, nil
		}
	}
	if lang == "" {
		return nil, &notebooks.Error{Kind: notebooks.KindSyntax, Msg: "the step has no language", Hint: "write it first: ```bash {#id}, or give one with -l"}
	}
	return nil, t.unknown(fmt.Sprintf("no kernel runs %q", lang), lang)
}

func (t kernels) named(name string) (kernel.Kernel, bool) {
	if c, ok := t.cfg.Kernels[name]; ok && len(c.Command) > 0 {
		return kernel.NewCommand(name, c.Command), true
	}
	return kernel.Lookup(name)
}

// runs says whether the kernel of that name runs a language.
func (t kernels) runs(name, lang string) bool {
	if c, ok := t.cfg.Kernels[name]; ok && len(c.Command) > 0 {
		return slices.Contains(c.Languages, lang) || len(c.Languages) == 0 && name == lang
	}
	got, ok := kernel.ForLanguage(lang)
	return ok && got == name
}

func (t kernels) own() []string {
	var out []string
	for name := range t.cfg.Kernels {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func (t kernels) unknown(msg, word string) *notebooks.Error {
	known := t.own()
	for _, k := range kernel.Table() {
		if !slices.Contains(known, k.Name()) {
			known = append(known, k.Name())
		}
	}
	e := &notebooks.Error{Kind: notebooks.KindOption, Msg: msg + "; there are: " + strings.Join(known, ", "),
		Hint: "name one of them, or add it under kernels: in " + ConfigFile}
	if near := notebooks.Suggest(word, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	return e
}

// jupyterName translates the names that Jupyter gives the kernels that are built in here.
func jupyterName(name string) string {
	switch name {
	case "python3", "python2", "ipykernel":
		return "python"
	case "javascript", "ijavascript":
		return "node"
	}
	return name
}
