package documents

import (
	"strings"

	"markmill/notebooks/diff"
)

// PatchFiles reads a Git patch. Lines before the first file header (the patch was cut) belong to a file without a
// path.
func PatchFiles(text string) []diff.FilePatch {
	var out []diff.FilePatch
	var f *diff.FilePatch
	inHunk := false
	next := func(file diff.FilePatch) {
		out = append(out, file)
		f, inHunk = &out[len(out)-1], false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if names, ok := strings.CutPrefix(line, "diff --git "); ok {
			next(diff.FilePatch{Path: diff.PatchPath(names), Status: "modified"})
			continue
		}
		if f == nil {
			next(diff.FilePatch{})
			inHunk = true
		}
		if strings.HasPrefix(line, "@@") {
			inHunk = true
		}
		if inHunk {
			f.Lines = append(f.Lines, line)
			continue
		}
		switch {
		case strings.HasPrefix(line, "new file mode "):
			f.Status = "added"
		case strings.HasPrefix(line, "deleted file mode "):
			f.Status = "deleted"
		case strings.HasPrefix(line, "rename from "):
			f.Status = "renamed"
		case strings.HasPrefix(line, "new mode "):
			f.Status = "mode"
		case strings.HasPrefix(line, "+++ b/"):
			f.Path = strings.TrimRight(strings.TrimPrefix(line, "+++ b/"), "\t")
		case strings.HasPrefix(line, "Binary file "), line == "GIT binary patch":
			f.Digest = "binary"
		case isElision(line): // what follows may be in the middle of a hunk
			f.Lines, inHunk = append(f.Lines, line), true
		case strings.HasPrefix(line, "index "):
			if _, blob, ok := strings.Cut(line, ".."); ok {
				blob, _, _ = strings.Cut(blob, " ")
				f.Digest = blob
			}
		}
	}
	for i := range out { // the name of the new content says more than the lines only where there are none
		if len(out[i].Lines) > 0 {
			out[i].Digest = ""
		}
	}
	return out
}
