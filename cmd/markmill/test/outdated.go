package test

import (
	"context"
	"os"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/outdated"
	"markmill/cmd/internal/program"
)

// testOutdated lists the outputs that test --outdated runs again.
func testOutdated(ctx context.Context, a *program.App, paths []string, o *testOptions) ([]files.File, error) {
	list, _, err := outdated.OutdatedOf(ctx, a, paths, &o.WorkOptions, &o.Request, o.dirtyIsSet)
	if err != nil {
		return nil, err
	}
	var found []files.File
	for _, out := range list {
		if _, err := os.Stat(out.Path); err == nil {
			found = append(found, files.File{Path: out.Path, Named: true})
		}
	}
	return found, nil
}
