package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of this source tree.
const release = "0.1.0-dev"

// build says what this binary was made from.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`      // the commit; "" where it was built without Git
	Modified bool   `json:"modified"`      // with uncommitted changes
	Time     string `json:"time,omitzero"` // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func version() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// buildOf reads what the compiler recorded of a build; info may be nil.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}

// words is the build on one line.
func (b build) words() string {
	commit := "commit unknown: built without Git"
	if b.Revision != "" {
		commit = fmt.Sprintf("commit %.12s", b.Revision)
		if b.Time != "" {
			commit += " of " + b.Time
		}
		if b.Modified {
			commit += ", modified"
		}
	}
	return fmt.Sprintf("markmill %s (%s) %s %s", b.Version, commit, b.Go, b.Platform)
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print which build this is", Args: args(0, 0),
		Long: `Prints the version, the commit that the program was built from and whether it had uncommitted changes, the Go
release and the platform. Go records the commit when it builds in a clone with Git; not in a linked worktree
or from an archive.`,
		Example: "  markmill version --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON("version", version())
			}
			return a.printVersion()
		},
	}
	jsonFlag(c, &asJSON, "version")
	return c
}

func (con *console) printVersion() error {
	_, err := fmt.Fprintln(con.stdout, version().words())
	return err
}
