package main

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
	Revision string `json:"revision,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	Time     string `json:"time,omitzero"` // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func version() build {
	b := build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
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

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Say which build this is", Args: args(0, 0),
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

func (a *app) printVersion() error {
	b := version()
	line := fmt.Sprintf("markmill %s %s %s", b.Version, b.Go, b.Platform)
	if b.Revision != "" {
		line += fmt.Sprintf(" %.12s", b.Revision)
		if b.Modified {
			line += "+modified"
		}
		line += " " + b.Time
	}
	_, err := fmt.Fprintln(a.stdout, line)
	return err
}
