package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"markmill/runs"
)

// The block of lines in an attributes file. What the first line says in brackets is for taking it out without a trace.
const (
	attributesBegin = "# markmill: begin"
	attributesEnd   = "# markmill: end"
	attributesMade  = " (this file was made for it)"
	attributesLine  = " (the line before it had no end)"
)

// attributesFile finds the file, and refuses outside of a repository.
func (a *app) attributesFile(s gitSetup) (string, error) {
	if !s.global {
		// The folder that the worktrees of a repository share.
		common, err := git("rev-parse", "--git-common-dir")
		if err != nil {
			return "", usagef("this is no Git repository; markmill git … --global is for all repositories of this user")
		}
		if s.attributes == "" {
			return filepath.Join(strings.TrimSuffix(common, "\n"), "info", "attributes"), nil
		}
	}
	if s.attributes != "" {
		return s.attributes, nil
	}
	if file, err := git("config", "--global", "--type=path", "--get", "core.attributesFile"); err == nil {
		return strings.TrimSuffix(file, "\n"), nil
	}
	return filepath.Join(a.userDir("XDG_CONFIG_HOME", ".config"), "git", "attributes"), nil
}

func readAttributes(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// writeAttributes puts the lines at the end of the file, or where they stand already.
func writeAttributes(file string, lines []string) error {
	old, err := readAttributes(file)
	if err != nil {
		return err
	}
	note := ""
	start, end, ok := findAttributes(old)
	switch {
	case ok:
		first, _, _ := strings.Cut(string(old[start:]), "\n")
		note = strings.TrimPrefix(first, attributesBegin)
	case old == nil:
		note = attributesMade
	case len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")):
		note = attributesLine
		old = append(old, '\n')
	}
	if !ok {
		start, end = len(old), len(old)
	}
	block := attributesBegin + note + "\n" + strings.Join(lines, "\n") + "\n" + attributesEnd + "\n"
	text := string(old[:start]) + block + string(old[end:])
	if text == string(old) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return replaceFile(file, []byte(text))
}

// findAttributes finds the block.
func findAttributes(text []byte) (start, end int, ok bool) {
	start = bytes.Index(text, []byte(attributesBegin))
	if start < 0 || start > 0 && text[start-1] != '\n' {
		return 0, 0, false
	}
	n := bytes.Index(text[start:], []byte("\n"+attributesEnd))
	if n < 0 {
		return 0, 0, false
	}
	end = start + n + 1 + len(attributesEnd)
	if end < len(text) && text[end] == '\r' {
		end++
	}
	if end < len(text) && text[end] == '\n' {
		end++
	}
	return start, end, true
}

// removeAttributes takes the lines out, and the file when it was made for them and is empty then.
func removeAttributes(file string) (removed bool, err error) {
	old, err := readAttributes(file)
	if err != nil {
		return false, err
	}
	start, end, ok := findAttributes(old)
	if !ok {
		return false, nil
	}
	first, _, _ := strings.Cut(string(old[start:]), "\n")
	before, after := old[:start], old[end:]
	if strings.HasSuffix(first, attributesLine) && len(after) == 0 {
		before = bytes.TrimSuffix(before, []byte("\n"))
	}
	text := append(bytes.Clone(before), after...)
	if len(text) == 0 && strings.HasSuffix(first, attributesMade) {
		return true, os.Remove(file)
	}
	return true, replaceFile(file, text)
}

// replaceFile writes a file whole; a link stays one.
func replaceFile(file string, text []byte) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	return runs.WriteFile(file, text)
}
