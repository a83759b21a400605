package engine

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
	"markmill/runs"
)

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
