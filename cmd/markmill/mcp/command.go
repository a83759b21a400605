package mcp

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks/codec"
	"markmill/render/plain"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("mcp", "Offer notebooks and runs to a coding agent (Model Context Protocol)",
		"Offers notebooks and runs to coding agents, by the Model Context Protocol. docs/mcp.md has the tools.",
		mcpServe(a), mcpInstall(a), mcpUninstall(a))
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
			root, src, err := a.Served(repo)
			if err != nil {
				return err
			}
			floor, err := Floor(src, allow)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o := Options{App: a, Program: self, Root: root,
				Store: a.In(root).StoreAt(engines.RootOf(src)).Dir,
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

// Floor is what a server of a repository that starts now imposes on notebooks; repo is nil outside one.
func Floor(repo *worktree.Source, lifted []string) (floor *engine.Floor, err error) {
	var head worktree.OID
	if repo != nil {
		if head, err = repo.Head(); err != nil {
			return nil, program.Troubled(err)
		}
	}
	if floor, err = engine.NewFloor(head, lifted); err != nil {
		return nil, program.Usagef("--allow: %v", err)
	}
	return floor, nil
}
