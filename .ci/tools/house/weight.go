package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// weightFile has a line for each top-level folder that holds Go: its name, and the most lines and files that it may
// have. Tests and generated files do not count. Lines that begin with # are comments.
const weightFile = ".ci/weight"

// A folder may weigh less than its line says by this much before the line must be lowered.
const (
	slackLines = 300
	slackFiles = 10
)

// weight is what a folder weighs, or may.
type weight struct{ lines, files int }

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// checkWeight finds the folders that weigh more than weightFile allows, and those that have become lighter.
func checkWeight(root fs.FS) (found []string, err error) {
	text, err := fs.ReadFile(root, weightFile)
	if err != nil {
		return nil, err
	}
	most := map[string]weight{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var folder string
		var w weight
		if _, err := fmt.Sscanln(line, &folder, &w.lines, &w.files); err != nil {
			return nil, fmt.Errorf("%s: %q: want FOLDER LINES FILES", weightFile, strings.TrimSpace(line))
		}
		most[folder] = w
	}
	is, err := weigh(root)
	if err != nil {
		return nil, err
	}
	for _, folder := range slices.Sorted(maps.Keys(is)) {
		now, may, line := is[folder], most[folder], fmt.Sprintf("%s %d %d", folder, is[folder].lines, is[folder].files)
		if _, known := most[folder]; !known {
			found = append(found, fmt.Sprintf("%s: no line for this folder in %s: add %q", folder, weightFile, line))
			continue
		}
		for _, c := range []struct {
			what    string
			is, may int
			mend    string
		}{
			{"lines", now.lines, may.lines, "remove what the change makes needless"},
			{"files", now.files, may.files, "move what fits into its neighbor's file there"},
		} {
			if c.is > c.may {
				found = append(found, fmt.Sprintf("%s: %d %s of Go without tests, %d more than the %d of %s: %s. The "+
					"figure only goes down; an issue may raise it once, in a commit that says what for", folder, c.is,
					c.what, c.is-c.may, c.may, weightFile, c.mend))
			}
		}
		if now.lines <= may.lines && now.files <= may.files &&
			(may.lines-now.lines > slackLines || may.files-now.files > slackFiles) {
			found = append(found, fmt.Sprintf("%s: lighter than %s says, by %d lines and %d files: write %q there", folder,
				weightFile, may.lines-now.lines, may.files-now.files, line))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(most)) {
		if is[folder].files == 0 {
			found = append(found, fmt.Sprintf("%s: the line of %s is for a folder without Go: remove it", folder,
				weightFile))
		}
	}
	return found, nil
}

// weigh counts the lines and files of each top-level folder.
func weigh(root fs.FS) (map[string]weight, error) {
	is := map[string]weight{}
	err := sources(root, func(name string, src []byte) error {
		if top, _, _ := strings.Cut(path.Dir(name), "/"); !strings.HasSuffix(name, "_test.go") && !generated.Match(src) {
			w := is[top]
			is[top] = weight{w.lines + bytes.Count(src, []byte("\n")), w.files + 1}
		}
		return nil
	})
	return is, err
}
