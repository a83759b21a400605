package safe

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"markmill/notebooks/keys"
	"markmill/render/plain"
	"markmill/runs"
)

// PatchBytes bounds the diff that one step shows.
const PatchBytes = 64 << 10

// Patch reads a patch as text for people. Binary content is named and not shown. Hidden characters are escaped even
// in the author's own files, because a reviewer must see them. Paths and varying text stay, because they are
// content. Keys that the step's data names are left out. escaped says that hidden characters are.
func Patch(files fs.FS, rec runs.StepRecord) (e Excerpt, escaped bool, err error) {
	patch := rec.Patch
	p := patchLines{files: patch.Files}
	hidden := func(file int) bool {
		return rec.Finished != nil && slices.ContainsFunc(rec.Finished.Hidden, func(h runs.HiddenData) bool {
			return h.Path != "" && (file < 0 || h.Index == file)
		})
	}
	if hidden(-1) {
		whole, err := fs.ReadFile(files, patch.Patch)
		if err != nil {
			return e, false, err
		}
		whole = keys.Shown(nil).HidePatch(whole, func(file int, _ []string) bool { return hidden(file) })
		return CutText(Clean(whole, p.line), PatchBytes), p.escaped, nil
	}
	e, err = ExcerptFile(files, patch.Patch, PatchBytes, p.line)
	if err != nil {
		return e, false, err
	}
	// Drop the rest of binary data at the start of the tail.
	for e.Tail != "" && !inText(e.Tail) && !strings.HasPrefix(e.Tail, "diff --git ") {
		_, e.Tail, _ = strings.Cut(e.Tail, "\n")
	}
	return e, p.escaped, nil
}

// patchLines filters the lines of a patch.
type patchLines struct {
	files   []runs.ChangedFile
	blob    string // the new blob of the file at hand, from its index line
	binary  bool   // inside a binary patch
	escaped bool
}

func (p *patchLines) line(raw []byte) (string, bool) {
	s := string(raw)
	switch {
	case strings.HasPrefix(s, "diff --git "):
		p.binary, p.blob = false, ""
	case p.binary && !inText(s):
		return "", false
	case strings.HasPrefix(s, "index "):
		_, after, _ := strings.Cut(s, "..")
		p.blob, _, _ = strings.Cut(after, " ")
	case s == "GIT binary patch":
		p.binary = true
		return p.summary(), true
	}
	p.binary = false
	shown := plain.Escape(s)
	if shown != s {
		p.escaped = true
	}
	return shown, true
}

// inText reports whether a line belongs to a hunk of text. Lines of binary data start with a letter, their length.
func inText(line string) bool {
	return line != "" && strings.IndexByte(" +-@\\", line[0]) >= 0
}

// summary returns what stands for a binary patch.
func (p *patchLines) summary() string {
	for _, f := range p.files {
		if f.Binary && p.blob != "" && strings.HasPrefix(f.NewBlob, p.blob) && f.Status != "deleted" {
			return fmt.Sprintf("Binary file %s: %s", plain.Escape(f.Path), plain.Counted(int(f.Size), "byte"))
		}
	}
	return "Binary file: not shown"
}
