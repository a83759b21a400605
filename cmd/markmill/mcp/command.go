package mcp

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/check"
	"markmill/engine"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks/codec"
	"markmill/render/plain"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("mcp", "Offer notebooks and runs to a coding agent (Model Context Protocol)",
		"Offers notebooks and runs to coding agents, by the Model Context Protocol. docs/mcp.md has the tools.",
		mcpServe(a), mcpInstall(a), mcpUninstall(a), mcpWrite(a))
}

func mcpServe(a *program.App) *cobra.Command {
	var repo string
	var allow []string
	c := &cobra.Command{
		Use: "serve", Short: "Offer notebooks and runs to a coding agent (Model Context Protocol)",
		Args: program.Args(0, 0),
		Long: `Serves one client over standard input and output, by the Model Context Protocol: tools that inspect, check,
run, show, compare and verify notebooks and runs, make notebooks and edit their steps. A client can name files below the
repository only. No tool approves, accepts, signs, applies a change, or changes policy. docs/mcp.md has the tools,
and the lines that configure agents.

Whatever a notebook says, its steps run in the sandbox (as with sandbox: required), in a worktree, and without secrets,
copied files and network, unless it stands byte for byte in the commit that is checked out when the server starts.
--allow lifts parts of that: unsandboxed, in-place, secrets, copy, network.

Exit codes: 0 the client has gone, 1 the stream broke, 2 the repository is not there.`,
		Example: "  markmill mcp install claude\n" +
			"  codex mcp add markmill -- markmill mcp serve --repo /src/project",
		RunE: func(c *cobra.Command, _ []string) error {
			root, _, err := a.Served(repo)
			if err != nil {
				return err
			}
			floor, store, err := floor(a, root, allow)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o := Options{Program: self, Version: program.Version().Version, Root: root, Store: store,
				Floor: string(codec.RawOf(floor))}
			if why, lift := floor.Unheld(func(need sandbox.Need) sandbox.Offer {
				return sandbox.Probe(c.Context(), self, need)
			}); why != "" {
				o.Notice = why + ". Runs are blocked; an operator lifts that with markmill mcp serve --allow " + lift
				a.Tell("markmill: %s\n", plain.Escape(o.Notice))
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return Serve(ctx, os.Stdin, a.Stdout, o)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "`FOLDER` of the Git repository that is served, or one outside any")
	c.Flags().StringSliceVar(&allow, "allow", nil, "lift `WHAT,…` of what the server imposes on notebooks: "+
		strings.Join(engine.FloorLifts, ", "))
	return c
}

// mcpWrite writes a notebook for the server, where outputs may go. The notebook must have a step, and no more mistakes
// than the one that is there.
func mcpWrite(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "write NOTEBOOK", Hidden: true, Args: program.Args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			path, before := words[0], check.CheckedNotebooks{}
			file, err := a.OpenOutput("NOTEBOOK", path)
			if err != nil {
				return err
			}
			defer file.Close()
			if _, err := os.Stat(path); err == nil {
				before.Add(check.Check(a, files.File{Path: path, Named: true}))
			}
			text, err := files.ReadAtMost(a.Stdin, "a notebook", 0, files.MaxJupyter)
			if err != nil {
				return err
			}
			after := check.CheckedNotebooks{Findings: []check.Finding{}}
			src, _, err := program.SourceOf(path, text, false, false)
			if err != nil {
				return err
			}
			nb, err := check.CheckSource(a, path, src)
			switch after.Add(nb, err); {
			case after.Errors > before.Errors:
				return err
			case nb == nil || len(nb.Steps) == 0: // it may have been damaged already
				return program.BadInput(path, "would have no step")
			}
			if err := file.Write(text); err != nil {
				return err
			}
			return a.PrintJSON("check", after)
		},
	}
	program.JSONFlag(c, &asJSON, "check")
	return c
}

// floor is the floor of a server at root that starts now, and where the records are.
func floor(a *program.App, root string, lifted []string) (floor *engine.Floor, store string, err error) {
	var head worktree.OID
	src, err := worktree.Open(root)
	switch {
	case err == nil:
		if head, err = src.Head(); err != nil {
			return nil, "", program.Troubled(err)
		}
	case !errors.Is(err, worktree.ErrNoRepository):
		return nil, "", program.Troubled(err)
	}
	if floor, err = engine.NewFloor(head, lifted); err != nil {
		return nil, "", program.Usagef("--allow: %v", err)
	}
	return floor, a.StoreAt(engines.RootOf(src)).Dir, nil
}
