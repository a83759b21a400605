package maintenance

import (
	"io"

	"markmill/cmd/internal/program"
)

// PrintUnits prints what an installation would write.
func PrintUnits(a *program.App, s *Schedule, kind string) error {
	files, err := s.Files(kind)
	for _, f := range files {
		if err == nil && f.Path != "" {
			err = program.Say(a.Stdout, "# %s\n", f.Path)
		}
		if err == nil { // it has no control characters
			_, err = io.WriteString(a.Stdout, f.Text)
		}
	}
	return err
}
