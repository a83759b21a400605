package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// Report is what a machine has.
type Report struct {
	Kernels []Part  `json:"kernels"`
	Git     Part    `json:"git"`
	Sandbox Sandbox `json:"sandbox"`
}

// Part is a kernel or program that is installed, or what is wrong with it and how to install it.
type Part struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // of a kernel: built-in, configured, jupyter; else program
	OK      bool   `json:"ok"`
	Program string `json:"program,omitzero"`
	Version string `json:"version,omitzero"`
	Words   string `json:"words,omitzero"` // what is wrong
	Hint    string `json:"hint,omitzero"`  // how to fix it
}

// Sandbox is what the sandbox can enforce here.
type Sandbox struct {
	Landlock int      `json:"landlock"` // version of the interface, 0 without
	Network  bool     `json:"network"`  // a step can be cut off from the network
	Mounts   bool     `json:"mounts"`   // the Git directory can be made read-only for steps in the checkout
	Limits   bool     `json:"limits"`   // resources can be limited
	Tree     string   `json:"tree"`     // mounted: the worktree can be at the checkout's own path; else separate
	NoTree   string   `json:"no_tree,omitzero"`
	NotHeld  []string `json:"not_held"`
}

// Check starts each built-in kernel, and looks for the programs of the kernels that cfg configures and of Jupyter's.
func Check(ctx context.Context, cfg engine.Config, getenv func(string) (string, bool)) (*Report, error) {
	r := &Report{}
	for _, k := range kernel.Table() {
		r.Kernels = append(r.Kernels, startKernel(ctx, k, cfg.Kernels[k.Name()].Program))
	}
	for name, k := range cfg.Kernels {
		if len(k.Command) > 0 {
			hint := "install it, or correct kernels: in markmill.yaml"
			r.Kernels = append(r.Kernels, find(name, "configured", k.Command[0], hint))
		}
	}
	for _, s := range jupyter.List(func(name string) string { v, _ := getenv(name); return v }) {
		program := s.Command("{connection_file}")[0]
		r.Kernels = append(r.Kernels, find(s.Name, "jupyter", program, "install it again, or remove "+s.Dir))
	}
	slices.SortStableFunc(r.Kernels[len(kernel.Table()):], func(x, y Part) int {
		return strings.Compare(x.Kind+x.Name, y.Kind+y.Name)
	})
	r.Git = find("git", "program", "git",
		"install the package git; runs work without it, except for submodules and filters of other programs")
	if r.Git.OK {
		if out, err := exec.CommandContext(ctx, r.Git.Program, "--version").Output(); err == nil {
			r.Git.Version = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
		}
	}
	var err error
	r.Sandbox, err = checkSandbox(ctx)
	return r, err
}

// OK reports whether every configured kernel is installed and some kernel can be used.
func (r *Report) OK() bool {
	missing := slices.ContainsFunc(r.Kernels, func(k Part) bool { return k.Kind == "configured" && !k.OK })
	return !missing && slices.ContainsFunc(r.Kernels, func(k Part) bool { return k.OK })
}

// startKernel starts a built-in kernel as a run does, and ends it.
func startKernel(ctx context.Context, k kernel.Kernel, program string) Part {
	c := Part{Name: k.Name(), Kind: "built-in", Hint: installHint(k.Name())}
	fail := func(err error) Part {
		c.Words = err.Error()
		if e, ok := errors.AsType[*notebooks.Error](err); ok {
			c.Words = e.Msg
			if program != "" || runtime.GOOS == "windows" {
				c.Hint = e.Hint
			}
		}
		return c
	}
	private, err := os.MkdirTemp("", "markmill-doctor-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(private)
	inner := filepath.Join(private, "kernel")
	if err := os.Mkdir(inner, 0o700); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	session, err := k.Start(ctx, kernel.Options{Program: program, Dir: private, Env: os.Environ(), Private: inner,
		Scraps: filepath.Join(private, "scraps"), Grace: time.Second})
	if err != nil {
		return fail(err)
	}
	info := session.Info()
	c.Program, c.Version = info.Program, info.Version
	if err := session.Close(); err != nil {
		return fail(err)
	}
	c.OK, c.Hint = true, ""
	return c
}

// installHint says how to install the program of a built-in kernel.
func installHint(name string) string {
	pack := map[string]string{"python": "python3", "node": "nodejs (Node)", "sh": "dash"}[name]
	if pack == "" {
		pack = name
	}
	return fmt.Sprintf("install the package %s, or name the program: kernels: {%s: {program: PATH}} in markmill.yaml",
		pack, name)
}

// find looks for a program on the PATH.
func find(name, kind, program, hint string) Part {
	path, err := exec.LookPath(program)
	if err != nil {
		return Part{Name: name, Kind: kind, Words: fmt.Sprintf("the program %s is not installed", program), Hint: hint}
	}
	return Part{Name: name, Kind: kind, OK: true, Program: path}
}

// checkSandbox asks the system for everything that a notebook may require.
func checkSandbox(ctx context.Context) (Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return Sandbox{}, err
	}
	wish := sandbox.Wish{Mode: "on", NetworkOff: true, InPlace: true,
		Resources: runs.ResourcesData{Memory: 1, Processes: 1}}
	offer := sandbox.Probe(ctx, self, wish.Need())
	held := sandbox.Decide(wish, offer)
	tree, why := runs.TreeMounted, ""
	place, err := process.NewPlace(self, "doctor", process.NewMark())
	if err != nil {
		tree, why = runs.TreeSeparate, err.Error()
	}
	place.Close()
	return Sandbox{Tree: tree, NoTree: why, Landlock: offer.Landlock,
		Network: held.Network != sandbox.NetworkOpen, Mounts: offer.Mounts,
		Limits: offer.Limits, NotHeld: append([]string{}, held.NotHeld...)}, nil
}

// treeHint says what most often keeps a user from making mount namespaces.
const treeHint = "Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0; a container: --security-opt " +
	"seccomp=unconfined --security-opt apparmor=unconfined, or --cap-add SYS_ADMIN; elsewhere: " +
	"user.max_user_namespaces and user.max_mnt_namespaces above 0"

// Text is the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString("kernels\n")
	for _, k := range r.Kernels {
		k.write(&b)
	}
	b.WriteString("\nprograms\n")
	r.Git.write(&b)
	b.WriteString("\nsandbox\n")
	held := func(ok bool, words string) {
		mark := "✗"
		if ok {
			mark = "✓"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, words)
	}
	landlock := "what steps write (Landlock)"
	if r.Sandbox.Landlock > 0 {
		landlock = fmt.Sprintf("what steps write (Landlock %d)", r.Sandbox.Landlock)
	}
	held(r.Sandbox.Landlock > 0, landlock)
	held(r.Sandbox.Network, "network: off")
	held(r.Sandbox.Mounts, "the Git directory, for steps in the checkout")
	held(r.Sandbox.Limits, "resources")
	held(r.Sandbox.NoTree == "", "tree: mounted, the worktree at the checkout's own path")
	if r.Sandbox.NoTree != "" {
		fmt.Fprintf(&b, "    %s\n    %s\n", plain.Escape(r.Sandbox.NoTree), treeHint)
	}
	for _, words := range r.Sandbox.NotHeld {
		fmt.Fprintf(&b, "    not held: %s\n", plain.Escape(words))
	}
	return b.String()
}

func (p Part) write(b *strings.Builder) {
	name := p.Name
	if p.Kind == "configured" || p.Kind == "jupyter" {
		name += " (" + p.Kind + ")"
	}
	if p.OK {
		fmt.Fprintf(b, "  ✓ %-8s %s\n", plain.Escape(name), plain.Escape(strings.TrimSpace(p.Version+"  "+p.Program)))
		return
	}
	fmt.Fprintf(b, "  ✗ %-8s %s\n", plain.Escape(name), plain.Escape(strings.Join(strings.Fields(p.Words), " ")))
	if p.Hint != "" {
		fmt.Fprintf(b, "             %s\n", plain.Escape(p.Hint))
	}
}
