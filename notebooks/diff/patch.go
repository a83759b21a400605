package diff

import "strings"

// PatchPath returns the path of the new side in the line "diff --git a/old b/new" of a patch, without those first two
// words. Git quotes names with odd characters, and does not part two names with spaces: then the two are of one length,
// but for a rename, whose names are on lines of their own.
func PatchPath(names string) string {
	if i := strings.Index(names, `" "b/`); i >= 0 {
		return strings.TrimSuffix(names[i+5:], `"`)
	}
	if half := len(names) / 2; len(names)%2 == 1 && strings.HasPrefix(names, "a/") && names[half] == ' ' &&
		strings.HasPrefix(names[half+1:], "b/") && names[2:half] == names[half+3:] {
		return names[half+3:]
	}
	if i := strings.LastIndex(names, " b/"); i >= 0 {
		return names[i+3:]
	}
	return names
}
