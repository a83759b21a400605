package safe

import (
	"fmt"
	"io/fs"
	"strings"

	"markmill/render/plain"
	"markmill/runs"
)

// PatchBytes bounds the diff that one step shows.
const PatchBytes = 64 << 10

// patchText reads a patch as text for people: what is binary is named and not shown, and hidden
// characters are escaped, also in the author's own files, where they are what a reviewer must not
// miss. Paths and varying text stay as they are: it is the content. escaped says that the text is
// not the patch to the byte.
func Patch(files fs.FS, patch *runs.PatchData) (e Excerpt, escaped bool, err error) {
	p := patchLines{files: patch.Files}
	e, err = ExcerptFile(files, patch.Patch, PatchBytes, p.line)
	if err != nil {
		return e, false, err
	}
	// A tail that starts inside binary data has no use for it.
	for e.Tail != "" && !inText(e.Tail) && !strings.HasPrefix(e.Tail, "diff --git ") {
		_, e.Tail, _ = strings.Cut(e.Tail, "\n")
	}
	return e, p.escaped, nil
}

// patchLines folds the lines of a patch.
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

// inText says that a line belongs to a hunk of text. Binary data never starts so: its lines start
// with a letter, which is their length.
func inText(line string) bool {
	return line != "" && strings.IndexByte(" +-@\\", line[0]) >= 0
}

// summary is what stands for a binary patch.
func (p *patchLines) summary() string {
	for _, f := range p.files {
		if f.Binary && p.blob != "" && strings.HasPrefix(f.NewBlob, p.blob) && f.Status != "deleted" {
			return fmt.Sprintf("Binary file %s: %s", plain.Escape(f.Path), plain.Counted(int(f.Size), "byte"))
		}
	}
	return "Binary file: not shown"
}
