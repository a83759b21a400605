package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
	"markmill/notebooks/inject"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/runs"
)

// kernels finds kernels by name and language: the repository's own first, then the built-in ones, then those that are
// installed for Jupyter.
type kernels struct {
	eng    *Engine
	python kernel.Kernel // that runs Python because the notebook needs IPython; nil: the built-in one does
	spec   bool          // the notebook's own kernel is a kernelspec, as in Jupyter's file
}

// forStep finds the kernel of a step. A kernel that was asked for (-k, or the front matter) runs the steps whose
// language is the language of a kernel; "" if nothing says it.
func (t kernels) forStep(lang string, apart bool, asked ...string) (kernel.Kernel, *notebooks.Error) {
	for i, name := range asked {
		if name == "" {
			continue
		}
		find := t.named
		if t.spec && i == len(asked)-1 {
			find = func(name string) (kernel.Kernel, *notebooks.Error) { return t.specified(name, lang) }
		}
		k, err := find(jupyterName(name))
		if err != nil {
			return nil, err
		}
		if k.Name() == "python" && name != "python" && t.python != nil {
			k = t.python
		}
		if lang == "" || t.spec && !apart || t.runs(k, lang) {
			return k, nil
		}
	}
	for _, name := range t.own() {
		if c := t.eng.Config.Kernels[name]; c.isNew() && c.runs(name, lang) {
			return t.configured(name, c)
		}
	}
	if name, ok := kernel.ForLanguage(lang); ok {
		if name == "python" && t.python != nil {
			return t.python, nil
		}
		if k, ok := t.eng.kernel(name); ok {
			return k, nil
		}
	}
	if lang == "" && t.spec {
		return nil, &notebooks.Error{Kind: notebooks.KindSyntax, Msg: "the notebook names no kernel and no language",
			Hint: "give one with -k, as -k python3, or save the notebook in Jupyter with a kernel"}
	}
	if lang == "" {
		return nil, &notebooks.Error{Kind: notebooks.KindSyntax, Msg: "the step has no language",
			Hint: "write it first: ```bash {#id}, or give one with -l"}
	}
	for _, spec := range jupyter.List(t.eng.env) {
		if k := kernel.NewJupyter(spec); t.runs(k, lang) {
			return k, nil
		}
	}
	return nil, t.unknown(fmt.Sprintf("no kernel runs %q", lang), lang)
}

// chooseLanguage sets the language of a notebook whose source does not name it, from the request or the kernel. Values
// are written in the kernel's language if that is possible, as papermill does, whatever a Jupyter notebook says.
func (e *Engine) chooseLanguage(nb *notebooks.Notebook, req Request) {
	named, apart := true, true
	own := ""
	for _, s := range nb.Steps {
		named = named && s.Lang != ""
		if apart && !s.Apart {
			apart, own = false, s.Lang
		}
	}
	t := kernels{eng: e, spec: nb.Form == ipynb.Form}
	switch lang := t.language(cmp.Or(req.Kernel, nb.Front.Kernel)); {
	case !t.spec && !named:
		markdown.SetDefaultLanguage(nb, cmp.Or(req.Language, lang))
	case !t.spec || apart:
	case inject.Known(lang) && !inject.Same(lang, own):
		markdown.SetDefaultLanguage(nb, lang)
	case own == "":
		markdown.SetDefaultLanguage(nb, cmp.Or(req.Language, lang))
	}
}

// language is that of a kernel, "" where nothing says it.
func (t kernels) language(name string) string {
	if name == "" {
		return ""
	}
	k, err := t.named(jupyterName(name))
	if err != nil {
		return ""
	}
	if j, ok := k.(interface{ Language() string }); ok {
		return j.Language()
	}
	own := strings.TrimPrefix(k.Name(), kernel.CommandPrefix)
	if c, ok := t.eng.Config.Kernels[own]; ok && len(c.Languages) > 0 {
		return c.Languages[0]
	}
	return own
}

func (t kernels) named(name string) (kernel.Kernel, *notebooks.Error) {
	if c, ok := t.eng.Config.Kernels[name]; ok && c.isNew() {
		return t.configured(name, c)
	}
	if k, ok := t.eng.kernel(name); ok {
		return k, nil
	}
	spec, err := jupyter.Find(strings.TrimPrefix(name, kernel.JupyterPrefix), t.eng.env)
	switch {
	case err == nil:
		return kernel.NewJupyter(spec), nil
	case errors.Is(err, jupyter.ErrNoSpec):
		return nil, t.unknown(fmt.Sprintf("kernel %q is not known", name), name)
	}
	return nil, &notebooks.Error{Kind: notebooks.KindProvider, Msg: err.Error(),
		Hint: "mend the kernelspec, or install the kernel again", Err: err}
}

// specified finds the kernel that a Jupyter notebook names. That means Jupyter's own. A built-in kernel of the same
// name replaces one that is not installed, and Python's if the notebook needs nothing of IPython.
func (t kernels) specified(name, lang string) (kernel.Kernel, *notebooks.Error) {
	if _, own := t.eng.Config.Kernels[name]; own || name == "python" {
		return t.named(name)
	}
	if spec, err := jupyter.Find(name, t.eng.env); err == nil {
		return kernel.NewJupyter(spec), nil
	}
	k, err := t.named(name)
	if err != nil {
		err.Msg = strings.Replace(err.Msg, "is not known", "is not installed", 1)
		err.Hint = "install it, or run the notebook with another: -k NAME"
		if other := t.kernelFor(lang); other != "" {
			err.Hint = fmt.Sprintf("it may be a name of the machine that wrote the notebook: run it with another "+
				"kernel of %s, -k %s, or install it", lang, other)
		}
	}
	return k, err
}

// kernelFor is the name of a kernel for a language: Jupyter's of that name, otherwise any, otherwise the built-in one.
func (t kernels) kernelFor(lang string) string {
	if lang == "" {
		return ""
	}
	other := ""
	for _, spec := range jupyter.List(t.eng.env) {
		if t.runs(kernel.NewJupyter(spec), lang) && (other == "" || spec.Name == lang+"3") {
			other = spec.Name
		}
	}
	if name, ok := kernel.ForLanguage(lang); ok && other == "" {
		return name
	}
	return other
}

// checkStepOptions returns an error for a step whose kernel does not accept the step's env or cwd.
func (p *Plan) checkStepOptions(k kernel.Kernel, s *notebooks.Step) error {
	j, ok := k.(interface{ AcceptsStepEnv() bool })
	if !ok || j.AcceptsStepEnv() || s.Cwd == "" && len(s.Env) == 0 || s.Has(notebooks.TagSkip) {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Line: s.Line, Col: 1, Step: s.ID,
		Msg:  fmt.Sprintf("cwd and env of a step do not reach the kernel %s", k.Name()),
		Hint: "change the folder and set the variables in the step's own code, or give env in the front matter"}
}

// warnUninjectable warns if Jupyter's output notebook will have no cell with the given values, because the language
// cannot express them. The steps get them all the same, and they are in the notebook's metadata.
func (p *Plan) warnUninjectable() {
	given := p.Given()
	if !p.jupyter() || len(given) == 0 || len(p.notebook.Steps) == 0 {
		return
	}
	if _, err := inject.Cell(p.spoken(), given, false); err != nil {
		var list notebooks.ErrorList
		words := err.Error()
		if errors.As(err, &list) {
			words = list[0].Msg
		} else if one := new(notebooks.Error); errors.As(err, &one) {
			words = one.Msg
		}
		p.notebook.Warnings = append(p.notebook.Warnings, &notebooks.Error{Kind: notebooks.KindParameter,
			File: p.request.Path, Line: 1, Msg: "the output notebook will have no cell with the given values: " + words,
			Hint: "the steps get them all the same, and the notebook's metadata name them"})
	}
}

// runs says whether the kernel runs a language.
func (t kernels) runs(k kernel.Kernel, lang string) bool {
	if j, ok := k.(interface{ Speaks(lang string) bool }); ok {
		return j.Speaks(lang)
	}
	name := strings.TrimPrefix(k.Name(), kernel.CommandPrefix)
	if c, ok := t.eng.Config.Kernels[name]; ok && len(c.Command) > 0 {
		return c.runs(name, lang)
	}
	got, ok := kernel.ForLanguage(lang)
	return ok && got == k.Name()
}

// runs says whether the command runs fences of a language.
func (c KernelConfig) runs(name, lang string) bool {
	return slices.Contains(c.Languages, lang) || len(c.Languages) == 0 && name == lang
}

func (t kernels) own() []string { return slices.Sorted(maps.Keys(t.eng.Config.Kernels)) }

func (t kernels) unknown(msg, word string) *notebooks.Error {
	known := t.own()
	for _, k := range kernel.Table() {
		if !slices.Contains(known, k.Name()) {
			known = append(known, k.Name())
		}
	}
	for _, spec := range jupyter.List(t.eng.env) {
		known = append(known, kernel.JupyterPrefix+spec.Name)
	}
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: msg + "; there are: " + strings.Join(known, ", "),
		Hint: cmp.Or(notebooks.DidYouMean(word, known), "name one of them, or add it under kernels: in "+ConfigFile)}
}

// jupyterName translates Jupyter's names of kernels that are built in here.
func jupyterName(name string) string {
	switch name {
	case "python3", "python2", "ipykernel":
		return "python"
	case "javascript", "ijavascript":
		return "node"
	}
	return name
}

// preferIPython runs all Python steps of a notebook that needs IPython on Jupyter's kernel of Python, because they
// share one state. Without such a kernel a warning says what is missing.
func (p *Plan) preferIPython(t *kernels) {
	asked := cmp.Or(p.request.Kernel, p.notebook.Front.Kernel)
	if _, own := t.eng.Config.Kernels["python"]; own || asked == "python" || t.eng.Config.Kernels[asked].isNew() ||
		strings.HasPrefix(asked, kernel.JupyterPrefix) {
		return
	}
	for _, s := range p.notebook.Steps {
		if name, ok := kernel.ForLanguage(s.Lang); !ok || name != "python" || s.Has(notebooks.TagSkip) {
			continue
		}
		line, text := kernel.NeedsIPython(s.Code)
		if line == 0 {
			continue
		}
		note := &notebooks.Error{Kind: notebooks.KindProvider, File: p.request.Path, Line: s.CodeLine + line - 1,
			Col:  1,
			Step: s.ID,
			Msg: fmt.Sprintf("only IPython understands %q: the notebook's Python runs on the Jupyter kernel python3",
				text)}
		if spec, err := jupyter.Find("python3", t.eng.env); err == nil {
			t.python = kernel.NewJupyter(spec)
		} else {
			note.Msg = fmt.Sprintf("only IPython understands %q, and no Jupyter kernel python3 is installed: the "+
				"built-in kernel runs it", text)
			note.Hint = "python3 -m pip install ipykernel, or write it in plain Python"
		}
		p.notebook.Warnings = append(p.notebook.Warnings, note)
		return
	}
}

// chooseKernels finds the kernel of each step, and checks that it can hold the parameters.
func (p *Plan) chooseKernels(e *Engine) error {
	var errs errorList
	table := kernels{eng: e, spec: p.jupyter()}
	p.preferIPython(&table)
	told := map[string]bool{}
	type choice struct {
		lang  string
		apart bool
	}
	chosen := map[choice]kernel.Kernel{} // looking for a kernelspec reads files
	for _, s := range p.notebook.Steps {
		if table.isAgent(s) && !(p.request.Judge != nil && s.Has(notebooks.TagSkip)) {
			k := p.chooseAgent(e, s)
			p.steps = append(p.steps, PlannedStep{Step: s, Kernel: k, Session: k.Name()})
			continue
		}
		lang := s.Lang
		var err *notebooks.Error
		k, ok := chosen[choice{lang, s.Apart}]
		if !ok {
			if k, err = table.forStep(lang, s.Apart, p.request.Kernel, p.notebook.Front.Kernel); err == nil {
				chosen[choice{lang, s.Apart}] = k
			}
		}
		if err != nil && s.Has(notebooks.TagSkip) { // what does not run needs nothing to run it
			p.steps = append(p.steps, PlannedStep{Step: s, Session: lang})
			continue
		}
		if err != nil {
			if !told[err.Msg] || !table.spec { // what a Jupyter notebook names is the same of every cell
				err.File, err.Line, err.Col, err.Step = p.request.Path, s.Line, 1, s.ID
				errs.add(err)
			}
			told[err.Msg] = true
			continue
		}
		errs.add(p.checkStepOptions(k, s))
		if p.notebook.Front.Network == "off" && strings.HasPrefix(k.Name(), kernel.RemotePrefix) {
			errs.add(&notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Line: s.Line,
				Col: 1, Step: s.ID,
				Msg:  fmt.Sprintf("the kernel %s is on a server, and network: off", k.Name()),
				Hint: "run the step on a kernel of this machine, or permit the network"})
		}
		p.steps = append(p.steps, PlannedStep{Step: s, Kernel: k, Session: cmp.Or(s.Kernel, k.Name())})
	}
	seen := map[string]bool{}
	for _, s := range p.steps {
		if s.Kernel == nil || seen[s.Kernel.Name()] {
			continue
		}
		seen[s.Kernel.Name()] = true
		for _, b := range p.values() {
			errs.add(s.Kernel.ValidateParam(b))
		}
	}
	p.warnUninjectable()
	p.protectContract()
	return errs.err()
}

// isNew reports whether the configuration adds a kernel, and does not only name the program of a built-in one.
func (c KernelConfig) isNew() bool { return len(c.Command) > 0 || c.Server != "" }

// kernelName splits the name of a kernel as records have it into the kind, "" of a built-in one, and the name.
func kernelName(name string) (kind, own string) {
	if kind, own, ok := strings.Cut(name, ":"); ok {
		return kind, own
	}
	return "", name
}

// KernelSettings identifies what kernels: says of the steps that a kernel runs: the entry of its name, and those that
// may take its steps. "" is nothing.
func (c *Config) KernelSettings(of string) runs.Digest {
	kind, name := kernelName(of)
	takes := func(other string, k KernelConfig) bool {
		langs := k.Languages
		if len(langs) == 0 {
			langs = []string{other}
		}
		return slices.ContainsFunc(langs, func(lang string) bool {
			builtIn, ok := kernel.ForLanguage(lang)
			return kind != "" || ok && builtIn == name // the languages of other kernels are not known here
		})
	}
	var said strings.Builder
	for _, other := range slices.Sorted(maps.Keys(c.Kernels)) {
		k := c.Kernels[other]
		if other == name || other == jupyterName(name) || k.isNew() && takes(other, k) {
			fmt.Fprintf(&said, "%q %q %q %q %q %q %q\n", other, k.Program, k.Command, k.Languages, k.Server, k.Kernel,
				k.Token)
		}
	}
	if said.Len() == 0 {
		return ""
	}
	return runs.DigestOf([]byte(said.String()))
}

// checkServer returns an error for a kernel of a server that cannot be reached so. The token comes by the name of a
// variable: an address stands in records.
func (c KernelConfig) checkServer(file, name string) error {
	bad := func(msg, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: fmt.Sprintf("kernel %q: %s", name, msg),
			Hint: hint}
	}
	switch at, err := url.Parse(c.Server); {
	case c.Server == "" && (c.Kernel != "" || c.Token != ""):
		return bad("kernel and token are of a Jupyter Server, and server is missing", "write server: https://HOST:PORT")
	case c.Server == "":
		return nil
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return bad("server is no address", "write https://HOST:PORT, or http://")
	case at.User != nil || at.RawQuery != "":
		return bad("the address of the server holds a secret, or a query",
			"write token: NAME, and the token in the variable NAME of the environment")
	case len(c.Command) > 0 || c.Program != "":
		return bad("it has a server, and a program here", "keep one of them")
	}
	return nil
}

// configured returns a kernel that the configuration adds.
func (t kernels) configured(name string, c KernelConfig) (kernel.Kernel, *notebooks.Error) {
	if c.Server == "" {
		return kernel.NewCommand(name, c.Command), nil
	}
	server := jupyter.Server{URL: c.Server}
	if c.Token != "" {
		token, set := t.eng.Getenv(c.Token)
		if !set || token == "" {
			return nil, &notebooks.Error{Kind: notebooks.KindProvider,
				Msg:  fmt.Sprintf("the variable %s, which holds the token of the kernel %q, is not set", c.Token, name),
				Hint: "export " + c.Token + "=…, where Markmill is started"}
		}
		server.Token = token
	}
	languages := c.Languages
	if len(languages) == 0 {
		languages = []string{"python", "python3", "py", "ipython", "ipython3"}
	}
	return kernel.NewRemote(name, server, cmp.Or(c.Kernel, "python3"), languages), nil
}
