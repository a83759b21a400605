package markdown

import (
	"os"
	"path/filepath"
	"testing"
)

// sharedDir finds a folder next to the repository, or skips the test.
func sharedDir(t *testing.T, name string) string {
	t.Helper()
	var roots []string
	if root := os.Getenv("MARKMILL_SHARED"); root != "" {
		roots = append(roots, root)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		roots = append(roots, filepath.Join(dir, "shared"))
	}
	for _, root := range roots {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.IsDir() {
			return filepath.Join(root, name)
		}
	}
	t.Skipf("no shared/%s beside the repository; set MARKMILL_SHARED", name)
	return ""
}
