package main

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

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/engine/sandbox"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// checkup is what doctor --json prints.
type checkup struct {
	Markmill build         `json:"markmill"`
	Kernels  []checked     `json:"kernels"`
	Git      checked       `json:"git"`
	Sandbox  checkedWalls  `json:"sandbox"`
	Folders  checkedPlaces `json:"folders"`
}

// checked is one thing that is there, or what is missing of it and how to get it.
type checked struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // of a kernel: built-in, configured, jupyter; else program
	OK      bool   `json:"ok"`
	Program string `json:"program,omitzero"`
	Version string `json:"version,omitzero"`
	Words   string `json:"words,omitzero"` // what is wrong
	Hint    string `json:"hint,omitzero"`  // how to mend it
}

// checkedWalls is what the sandbox can hold here.
type checkedWalls struct {
	Landlock int      `json:"landlock"` // version of the interface, 0 without
	Network  bool     `json:"network"`  // a step can be cut off from the network
	Mounts   bool     `json:"mounts"`   // the Git directory can be made read-only for steps in the checkout
	Limits   bool     `json:"limits"`   // resources can be limited
	NotHeld  []string `json:"not_held"`
}

type checkedPlaces struct {
	Repository string `json:"repository,omitzero"`
	Records    string `json:"records"`
	Cache      string `json:"cache"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Say what this machine has for runs, and how to get what is missing",
		Long: `Starts each built-in kernel, looks for the programs of the configured ones and of Jupyter's, for Git, and
for what the system offers the sandbox. Nothing is written but a temporary folder.

Exit codes: 0 told, 1 a kernel that markmill.yaml configures is not there, or none starts.`,
		Example: "  markmill doctor\n  markmill doctor --json | jq '.kernels[] | select(.ok | not)'",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := a.checkUp(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON("doctor", found)
			} else {
				_, err = a.stdout.WriteString(found.text())
			}
			if err != nil {
				return err
			}
			missing := slices.ContainsFunc(found.Kernels, func(k checked) bool { return k.Kind == "configured" && !k.OK })
			if missing || !slices.ContainsFunc(found.Kernels, func(k checked) bool { return k.OK }) {
				return exit(exitFail)
			}
			return nil
		},
	}
	jsonFlag(c, &asJSON, "doctor")
	return c
}

func (a *app) checkUp(ctx context.Context) (*checkup, error) {
	store, src, err := a.here()
	if err != nil {
		return nil, err
	}
	root := ""
	if src != nil {
		root = src.Root()
	}
	cfg, err := engine.LoadConfig(root)
	if err != nil {
		return nil, err
	}
	c := &checkup{Markmill: version(), Folders: checkedPlaces{Repository: root, Records: store.Dir, Cache: a.cache()}}
	for _, k := range kernel.Table() {
		c.Kernels = append(c.Kernels, startKernel(ctx, k, cfg.Kernels[k.Name()].Program))
	}
	for name, k := range cfg.Kernels {
		if len(k.Command) > 0 {
			c.Kernels = append(c.Kernels, lookFor(name, "configured", k.Command[0], "install it, or mend kernels: in markmill.yaml"))
		}
	}
	env := func(name string) string { v, _ := a.getenv(name); return v }
	for _, s := range jupyter.List(env) {
		c.Kernels = append(c.Kernels, lookFor(s.Name, "jupyter", s.Command("{connection_file}")[0], "install it again, or remove "+s.Dir))
	}
	slices.SortStableFunc(c.Kernels[len(kernel.Table()):], func(x, y checked) int { return strings.Compare(x.Kind+x.Name, y.Kind+y.Name) })
	c.Git = lookFor("git", "program", "git", "install the package git; runs work without it, but for submodules and filters of other programs")
	if c.Git.OK {
		if out, err := exec.CommandContext(ctx, c.Git.Program, "--version").Output(); err == nil {
			c.Git.Version = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
		}
	}
	c.Sandbox, err = checkWalls(ctx)
	return c, err
}

// startKernel starts a built-in kernel as a run would, and ends it.
func startKernel(ctx context.Context, k kernel.Kernel, program string) checked {
	c := checked{Name: k.Name(), Kind: "built-in", Hint: installHint(k.Name())}
	fail := func(err error) checked {
		c.Words = err.Error()
		var e *notebooks.Error
		if errors.As(err, &e) {
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

// installHint says how to get the program of a built-in kernel.
func installHint(name string) string {
	pack := map[string]string{"python": "python3", "node": "nodejs (Node)", "sh": "dash"}[name]
	if pack == "" {
		pack = name
	}
	return fmt.Sprintf("install the package %s, or name the program: kernels: {%s: {program: PATH}} in markmill.yaml", pack, name)
}

func lookFor(name, kind, program, hint string) checked {
	path, err := exec.LookPath(program)
	if err != nil {
		return checked{Name: name, Kind: kind, Words: fmt.Sprintf("the program %s is not there", program), Hint: hint}
	}
	return checked{Name: name, Kind: kind, OK: true, Program: path}
}

// checkWalls asks the system what it can hold of all that a notebook may ask for.
func checkWalls(ctx context.Context) (checkedWalls, error) {
	self, err := os.Executable()
	if err != nil {
		return checkedWalls{}, err
	}
	wish := sandbox.Wish{Mode: "on", NetworkOff: true, InPlace: true, Resources: runs.ResourcesData{Memory: 1, Processes: 1}}
	offer := sandbox.Probe(ctx, self, wish.Need())
	held := sandbox.Decide(wish, offer)
	return checkedWalls{Landlock: offer.Landlock, Network: held.Network != sandbox.NetworkOpen, Mounts: offer.Mounts, Limits: offer.Limits,
		NotHeld: append([]string{}, held.NotHeld...)}, nil
}

// text is the checkup for people.
func (c *checkup) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "markmill %s, %s\n\nkernels\n", c.Markmill.Version, c.Markmill.Platform)
	for _, k := range c.Kernels {
		k.write(&b)
	}
	b.WriteString("\nprograms\n")
	c.Git.write(&b)
	b.WriteString("\nsandbox\n")
	held := func(ok bool, words string) {
		mark := "✗"
		if ok {
			mark = "✓"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, words)
	}
	landlock := "what steps write (Landlock)"
	if c.Sandbox.Landlock > 0 {
		landlock = fmt.Sprintf("what steps write (Landlock %d)", c.Sandbox.Landlock)
	}
	held(c.Sandbox.Landlock > 0, landlock)
	held(c.Sandbox.Network, "network: off")
	held(c.Sandbox.Mounts, "the Git directory, for steps in the checkout")
	held(c.Sandbox.Limits, "resources")
	for _, words := range c.Sandbox.NotHeld {
		fmt.Fprintf(&b, "    not held: %s\n", plain.Escape(words))
	}
	repository := c.Folders.Repository
	if repository == "" {
		repository = "none here"
	}
	fmt.Fprintf(&b, "\nfolders\n  repository  %s\n  records     %s\n  cache       %s\n", plain.Escape(repository), plain.Escape(c.Folders.Records), plain.Escape(c.Folders.Cache))
	return b.String()
}

func (c checked) write(b *strings.Builder) {
	name := c.Name
	if c.Kind == "configured" || c.Kind == "jupyter" {
		name += " (" + c.Kind + ")"
	}
	if c.OK {
		fmt.Fprintf(b, "  ✓ %-8s %s\n", plain.Escape(name), plain.Escape(strings.TrimSpace(c.Version+"  "+c.Program)))
		return
	}
	fmt.Fprintf(b, "  ✗ %-8s %s\n", plain.Escape(name), plain.Escape(strings.Join(strings.Fields(c.Words), " ")))
	if c.Hint != "" {
		fmt.Fprintf(b, "             %s\n", plain.Escape(c.Hint))
	}
}
