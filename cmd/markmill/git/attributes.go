package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"

	"markmill/runs/outfile"
)

// The block of lines in an attributes file. A note in brackets on the first line says how to remove it without a trace.
const (
	blockBegin = "# markmill: begin"
	blockEnd   = "# markmill: end"
	fileMade   = " (this file was made for it)"
	lineEnded  = " (the line before it had no end)"
)

func readAttributes(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// writeAttributes writes the block at the end of the file, or where it is already.
func writeAttributes(file string, lines []string) error {
	old, err := readAttributes(file)
	if err != nil {
		return err
	}
	note := ""
	start, end, ok := findBlock(old)
	switch {
	case ok:
		first, _, _ := strings.Cut(string(old[start:]), "\n")
		note = strings.TrimPrefix(first, blockBegin)
	case old == nil:
		note = fileMade
	case len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")):
		note = lineEnded
		old = append(old, '\n')
	}
	if !ok {
		start, end = len(old), len(old)
	}
	block := blockBegin + note + "\n" + strings.Join(lines, "\n") + "\n" + blockEnd + "\n"
	text := string(old[:start]) + block + string(old[end:])
	if text == string(old) {
		return nil
	}
	return outfile.Setting(file, []byte(text))
}

// findBlock returns the span of the block.
func findBlock(text []byte) (start, end int, ok bool) {
	start = bytes.Index(text, []byte(blockBegin))
	if start < 0 || start > 0 && text[start-1] != '\n' {
		return 0, 0, false
	}
	n := bytes.Index(text[start:], []byte("\n"+blockEnd))
	if n < 0 {
		return 0, 0, false
	}
	end = start + n + 1 + len(blockEnd)
	if end < len(text) && text[end] == '\r' {
		end++
	}
	if end < len(text) && text[end] == '\n' {
		end++
	}
	return start, end, true
}

// removeAttributes removes the block, and the file when it was made for the block and is empty without it.
func removeAttributes(file string) (removed bool, err error) {
	old, err := readAttributes(file)
	if err != nil {
		return false, err
	}
	start, end, ok := findBlock(old)
	if !ok {
		return false, nil
	}
	first, _, _ := strings.Cut(string(old[start:]), "\n")
	before, after := old[:start], old[end:]
	if strings.HasSuffix(first, lineEnded) && len(after) == 0 {
		before = bytes.TrimSuffix(before, []byte("\n"))
	}
	text := append(bytes.Clone(before), after...)
	if len(text) == 0 && strings.HasSuffix(first, fileMade) {
		return true, os.Remove(file)
	}
	return true, outfile.Setting(file, text)
}
