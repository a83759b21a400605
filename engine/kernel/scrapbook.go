package kernel

import (
	"os"
	"path/filepath"

	"markmill/engine/kernel/jupyter"
	"markmill/runs/scrapbook"
)

// glue records the scraps that Python's scrapbook, or its counterpart in another language, puts into a display. A
// display does not replace a value that the step recorded under the same name.
func (s *jupyterStep) glue(o jupyter.Output) error {
	if s.scraps == "" {
		return nil
	}
	for _, found := range scrapbook.Read(o.Data, o.Metadata) {
		if found.Shown && s.glued[found.Name] {
			continue
		}
		if !found.Shown {
			if s.glued == nil {
				s.glued = map[string]bool{}
			}
			s.glued[found.Name] = true
		}
		entry := found.ScrapData
		if found.Content != nil {
			if err := os.MkdirAll(s.r.DisplayDir, 0o777); err != nil {
				return err
			}
			entry.File = filepath.Join(s.r.DisplayDir, "scrap-"+safeName(entry.Name)+scrapbook.Extension(entry.MIME))
			if err := os.WriteFile(entry.File, found.Content, 0o666); err != nil {
				return err
			}
		}
		if err := appendScrap(s.scraps, entry); err != nil {
			return err
		}
	}
	return nil
}
