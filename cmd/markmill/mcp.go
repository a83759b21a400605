package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

// mcpProgram is the server, which lies beside markmill. docs/performance.md says why it is a program of its own.
const mcpProgram = "markmill-mcp"

func (a *app) mcpCommand() *cobra.Command {
	var repo string
	c := &cobra.Command{
		Use: "mcp", Short: "Offer notebooks and runs to a coding agent (Model Context Protocol)", Args: args(0, 0),
		Long: `Serves one client over standard input and output, by the Model Context Protocol: tools that inspect, check,
run, show, compare and verify notebooks and runs, make notebooks and edit their steps. A client can name files below the
repository only. No tool approves, accepts, signs, applies a change, or changes policy. docs/mcp.md has the tools,
and the lines that configure agents. The program markmill-mcp, which must lie beside markmill, is the server.

Exit codes: 0 the client has gone, 1 the stream broke, 2 the server or the repository is not there.`,
		Example: "  claude mcp add markmill -- markmill mcp\n  codex mcp add markmill -- markmill mcp --repo " +
			"/src/project",
		RunE: func(*cobra.Command, []string) error {
			root, err := a.servedRoot(repo)
			if err != nil {
				return err
			}
			server, self, err := sibling(mcpProgram)
			if err != nil {
				return err
			}
			return become(server, mcpProgram, "-program="+self, "-is="+version().Version, "-root="+root)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "`FOLDER` of the Git repository that is served, or one outside any")
	return c
}

// sibling finds a program of Markmill's that lies beside this one.
func sibling(name string) (program, self string, err error) {
	self, err = os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", "", err
	}
	program = filepath.Join(filepath.Dir(self), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := os.Stat(program); err != nil {
		return "", "", usagef("the program %s is not there; it comes with each package of Markmill, and in its source "+
			"go build -o %s ./cmd/%s makes it", program, filepath.Dir(self), name)
	}
	return program, self, nil
}
