package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"markmill/render/compare"
)

// maxAnnotation bounds the text of an annotation, in bytes; GitHub cuts longer ones at 64 KiB with the log.
const maxAnnotation = 4 << 10

// annotateAll prints what is off as workflow commands of GitHub Actions, which shows them beside the lines of the
// files.
func (t *tester) annotateAll(w io.Writer, all []*testedNotebook) {
	for _, n := range all {
		file := t.workspacePath(n.job.file.path)
		if n.Status == testUpdated || n.Status == testSkipped {
			continue
		}
		for _, words := range n.Words {
			fmt.Fprintln(w, annotation(file, 0, "markmill test", words))
		}
		for _, s := range n.Steps {
			switch compare.Verdict(s.Verdict) {
			case compare.Different, compare.Failed:
				fmt.Fprintln(w, annotation(file, s.Line, "step "+s.Step+": "+s.Verdict, s.Words+"\n"+s.Diff))
			}
		}
	}
}

// annotation is one workflow command. Its values are escaped as GitHub's own toolkit does.
func annotation(file string, line int, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	place := "file=" + property.Replace(file)
	if line > 0 {
		place += fmt.Sprintf(",line=%d", line)
	}
	text = strings.TrimSuffix(text, "\n")
	if len(text) > maxAnnotation {
		text = strings.ToValidUTF8(text[:maxAnnotation], "") + "\n…"
	}
	return "::error " + place + ",title=" + property.Replace(title) + "::" + data.Replace(text)
}

// workspacePath is a path as GitHub wants it: from the root of the checkout.
func (t *tester) workspacePath(path string) string {
	if root, ok := t.getenv("GITHUB_WORKSPACE"); ok && root != "" {
		if rel, err := filepath.Rel(root, absolute(path)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name(path)
}

// unheard is text that a workflow's log may hold without being taken for commands: what steps printed is in it. The
// word that ends it is random, so that the text cannot say it.
func unheard(random io.Reader, text string) string {
	var token [16]byte
	if _, err := io.ReadFull(random, token[:]); err != nil {
		return strings.ReplaceAll(text, "::", ": :")
	}
	word := hex.EncodeToString(token[:])
	return "::stop-commands::" + word + "\n" + text + "::" + word + "::\n"
}
