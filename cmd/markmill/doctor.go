package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"markmill/cmd/api/doctor"
	"markmill/engine"
	"markmill/render/plain"
)

// checkup is what doctor --json prints.
type checkup struct {
	Markmill build `json:"markmill"`
	*doctor.Report
	Folders checkedFolders `json:"folders"`
}

type checkedFolders struct {
	Repository string `json:"repository,omitzero"`
	Records    string `json:"records"`
	Cache      string `json:"cache"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check what this machine has for runs, and how to install what is missing",
		Long: `Starts each built-in kernel, and looks for the programs of configured kernels and of Jupyter's, for Git, and
for what the system offers the sandbox. Nothing is written except a temporary folder.

Exit codes: 0 checked, 1 a kernel that markmill.yaml configures is missing, or no kernel starts.`,
		Example: "  markmill doctor\n  markmill doctor --json | jq '.kernels[] | select(.ok | not)'",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), asJSON) },
	}
	jsonFlag(c, &asJSON, "doctor")
	return c
}

func (a *app) doctor(ctx context.Context, asJSON bool) error {
	store, src, err := a.here()
	if err != nil {
		return err
	}
	cfg, err := engine.LoadConfig(rootOf(src))
	if err != nil {
		return err
	}
	report, err := doctor.Check(ctx, cfg, a.getenv)
	if err != nil {
		return err
	}
	doc := checkup{version(), report, checkedFolders{Repository: rootOf(src), Records: store.Dir, Cache: a.cache()}}
	if asJSON {
		err = a.printJSON("doctor", doc)
	} else {
		repository := doc.Folders.Repository
		if repository == "" {
			repository = "none here"
		}
		_, err = fmt.Fprintf(a.stdout, "markmill %s, %s\n\n%s\n"+
			"folders\n  repository  %s\n  records     %s\n  cache       %s\n",
			doc.Markmill.Version, doc.Markmill.Platform, report.Text(),
			plain.Escape(repository), plain.Escape(doc.Folders.Records), plain.Escape(doc.Folders.Cache))
	}
	if err != nil {
		return err
	}
	if !report.OK() {
		return exit(exitFail)
	}
	return nil
}
