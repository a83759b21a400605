package cli

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/markmill/mcp"
	"markmill/engine"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks/codec"
	"markmill/render/plain"
)

func (a *app) mcpCommand() *cobra.Command {
	return groupOf("mcp", "Offer notebooks and runs to a coding agent (Model Context Protocol)",
		"docs/mcp.md has the tools, and the lines that configure agents.", a.mcpServe(), a.mcpWrite())
}

func (a *app) mcpServe() *cobra.Command {
	var repo string
	var allow []string
	c := &cobra.Command{
		Use: "serve", Short: "Offer notebooks and runs to a coding agent (Model Context Protocol)", Args: args(0, 0),
		Long: `Serves one client over standard input and output, by the Model Context Protocol: tools that inspect, check,
run, show, compare and verify notebooks and runs, make notebooks and edit their steps. A client can name files below the
repository only. No tool approves, accepts, signs, applies a change, or changes policy. docs/mcp.md has the tools,
and the lines that configure agents.

Whatever a notebook says, its steps run in the sandbox (as with sandbox: required), in a worktree, and without secrets,
copied files and network, unless it stands byte for byte in the commit that is checked out when the server starts.
--allow lifts parts of that: unsandboxed, in-place, secrets, copy, network.

Exit codes: 0 the client has gone, 1 the stream broke, 2 the repository is not there.`,
		Example: "  claude mcp add markmill -- markmill mcp serve\n" +
			"  codex mcp add markmill -- markmill mcp serve --repo " +
			"/src/project",
		RunE: func(c *cobra.Command, _ []string) error {
			root, _, err := a.served(repo)
			if err != nil {
				return err
			}
			floor, store, err := a.floor(root, allow)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o := mcp.Options{Program: self, Version: version().Version, Root: root, Store: store,
				Floor: string(codec.RawOf(floor))}
			if why, lift := floor.Unheld(func(need sandbox.Need) sandbox.Offer {
				return sandbox.Probe(c.Context(), self, need)
			}); why != "" {
				o.Notice = why + ". Runs are blocked; an operator lifts that with markmill mcp serve --allow " + lift
				a.tell("markmill: %s\n", plain.Escape(o.Notice))
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return mcp.Serve(ctx, os.Stdin, a.stdout, o)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "`FOLDER` of the Git repository that is served, or one outside any")
	c.Flags().StringSliceVar(&allow, "allow", nil, "lift `WHAT,…` of what the server imposes on notebooks: "+
		strings.Join(engine.FloorLifts, ", "))
	return c
}

// mcpWrite writes a notebook for the server, where outputs may go. The notebook must have a step, and no more mistakes
// than the one that is there.
func (a *app) mcpWrite() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "write NOTEBOOK", Hidden: true, Args: args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			path, before := words[0], checkedNotebooks{}
			file, err := a.openOutput("NOTEBOOK", path)
			if err != nil {
				return err
			}
			defer file.Close()
			if _, err := os.Stat(path); err == nil {
				before.add(a.check(files.File{Path: path, Named: true}))
			}
			text, err := files.ReadAtMost(a.stdin, "a notebook", 0, files.MaxJupyter)
			if err != nil {
				return err
			}
			after := checkedNotebooks{Findings: []finding{}}
			src, _, err := sourceOf(path, text, false, false)
			if err != nil {
				return err
			}
			nb, err := a.checkSource(path, src)
			switch after.add(nb, err); {
			case after.Errors > before.Errors:
				return err
			case nb == nil || len(nb.Steps) == 0: // it may have been damaged already
				return badInput(path, "would have no step")
			}
			if err := file.Write(text); err != nil {
				return err
			}
			return a.printJSON("check", after)
		},
	}
	jsonFlag(c, &asJSON, "check")
	return c
}

// floor is the floor of a server at root that starts now, and where the records are.
func (a *app) floor(root string, lifted []string) (floor *engine.Floor, store string, err error) {
	var head worktree.OID
	src, err := worktree.Open(root)
	switch {
	case err == nil:
		if head, err = src.Head(); err != nil {
			return nil, "", troubled(err)
		}
	case !errors.Is(err, worktree.ErrNoRepository):
		return nil, "", troubled(err)
	}
	if floor, err = engine.NewFloor(head, lifted); err != nil {
		return nil, "", usagef("--allow: %v", err)
	}
	return floor, a.storeAt(api.RootOf(src)).Dir, nil
}
