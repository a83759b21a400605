package render

import (
	"fmt"
	"io/fs"
	"strings"

	"markmill/render/plain"
	"markmill/runs"
)

// patchBytes bounds the diff that one step shows.
const patchBytes = 64 << 10

// patchText reads a patch as text for people: what is binary is named and not shown, and hidden
// characters are escaped, also in the author's own files, where they are what a reviewer must not
// miss. Paths and varying text stay as they are: it is the content. escaped says that the text is
// not the patch to the byte.
func patchText(files fs.FS, patch *runs.PatchData) (e excerpt, escaped bool, err error) {
	p := patchLines{files: patch.Files}
	e, err = excerptFile(files, patch.Patch, patchBytes, p.line)
	if err != nil {
		return e, false, err
	}
	// A tail that starts inside binary data has no use for it.
	for e.tail != "" && !inText(e.tail) && !strings.HasPrefix(e.tail, "diff --git ") {
		_, e.tail, _ = strings.Cut(e.tail, "\n")
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

// ChangeWords says "1 file +1 −1" of a change; "" of none.
func ChangeWords(files []runs.ChangedFile) string {
	if len(files) == 0 {
		return ""
	}
	added, deleted := 0, 0
	for _, f := range files {
		added += f.Added
		deleted += f.Deleted
	}
	return fmt.Sprintf("%s +%d −%d", plain.Counted(len(files), "file"), added, deleted)
}
