package program

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Release is the version of this source tree.
const Release = "0.1.0-dev"

// Build says what this binary was made from.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`      // the commit; "" where it was built without Git
	Modified bool   `json:"modified"`      // with uncommitted changes
	Time     string `json:"time,omitzero"` // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func Version() Build {
	info, _ := debug.ReadBuildInfo()
	return BuildOf(info)
}

// BuildOf reads what the compiler recorded of a build; info may be nil.
func BuildOf(info *debug.BuildInfo) Build {
	b := Build{Version: Release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// Words is the build on one line.
func (b Build) Words() string {
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

func (con *Console) PrintVersion() error {
	_, err := fmt.Fprintln(con.Stdout, Version().Words())
	return err
}
