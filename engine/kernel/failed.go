package kernel

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"markmill/notebooks/lazyregexp"
)

// maxCommand bounds the text of a failed command, in bytes.
const maxCommand = 300

// failedCommand reads what a shell's driver said of the command at which a step failed. The fields of said end with
// NUL: where the shell was when it ended ("<functions> <line of the outermost call>", or "-" when it goes on), and the
// two commands that failed last, the last one second; of bash, when it ended, "--" instead of the first one, unless the
// author's traps kept the driver's from seeing commands. It returns nil when nothing is certain.
func failedCommand(said []byte, r Request, exit int) *FailedCommand {
	lines := strings.Split(strings.TrimSuffix(string(r.Code), "\n"), "\n")
	first := max(r.Line, 1)
	at := func(line int, command string) *FailedCommand {
		line, text := sourceOf(lines, line-first, command)
		if text = oneLine(text); text == "" {
			return nil
		}
		return &FailedCommand{Line: first + line, Command: text}
	}
	whole, ended := false, false // only the step as a whole failed; an exit ended it
	if f := strings.Split(string(said), "\x00"); len(f) == 4 {
		where, last := f[0], f[2]
		if where == "-" {
			last = f[1] // the last one is the driver's own, that ran the step
			whole = true
		}
		// If a function ended the shell, no trap saw the command in it: report its call.
		if functions, line := twoNumbers(where); functions > 0 {
			return at(line, "")
		}
		ended = f[1] == "--"
		if f := strings.SplitN(last, " ", 6); len(f) == 6 && f[0] == strconv.Itoa(exit) {
			parts, _ := strconv.Atoi(f[1])
			line, _ := strconv.Atoi(f[2])
			functions, call := twoNumbers(f[3] + " " + f[4])
			command := f[5]
			if parts > 1 { // in a pipeline, the trap knows only the last command
				command = ""
			}
			if functions > 0 { // in a file that the step reads with "."
				line, command = call, ""
			}
			if whole, ended = functions < 0 || strings.Contains(command, driversEval), false; !whole {
				return at(line, command)
			}
		}
	}
	var begin []int // the lines in which commands begin
	for i := 0; i < len(lines); i++ {
		if text := strings.TrimSpace(lines[i]); text != "" && text[0] != '#' {
			begin = append(begin, i)
			for i+1 < len(lines) && continues(lines[i]) {
				i++
			}
		}
	}
	exits := slices.DeleteFunc(slices.Clone(begin), func(i int) bool {
		m := exitCommand.FindStringSubmatch(lines[i])
		return m == nil || m[1] != "" && m[1] != strconv.Itoa(exit)
	})
	switch n := len(begin); {
	case n == 1: // it needs no word of the shell
		return at(first+begin[0], "")
	case ended && len(exits) == 1:
		return at(first+exits[0], "")
	case whole && n > 0 && listCommand.MatchString(lines[len(lines)-1]): // no trap sees what fails in a list
		return at(first+begin[n-1], "")
	}
	return nil
}

// driversEval is a part of the driver's command that runs a step (loop).
const driversEval = "$__mm_code"

var (
	exitCommand = lazyregexp.New(`(?:^|[;&|({]|\b(?:then|do|else))\s*exit\b[ \t]*([0-9]*)`)
	listCommand = lazyregexp.New(`&&|\|\||^\s*! `)
)

func twoNumbers(text string) (int, int) {
	a, b, _ := strings.Cut(text, " ")
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x, y
}

// sourceOf finds a command in the lines of a step: the line where it begins, from 0, and its text. For the place of a
// command bash gives its last line and zsh its first; an empty command stands for all of the line.
func sourceOf(lines []string, line int, command string) (int, string) {
	if line < 0 || line >= len(lines) {
		return 0, ""
	}
	head, _, many := strings.Cut(strings.TrimSpace(command), "\n")
	if many {
		head += " …"
	}
	if want := squeeze(strings.TrimSuffix(head, " …")); want != "" {
		for i := line; i >= 0 && (many || i == line || continues(lines[i])); i-- {
			if have := squeeze(lines[i]); have == want && !many {
				return i, lines[i]
			} else if strings.Contains(have, want) {
				return i, head
			}
		}
		if want[0] == '(' { // a group over lines, which the shell prints in one
			return line, head
		} // else of eval, and no text of the source
	}
	begin, end := line, line+1
	for begin > 0 && continues(lines[begin-1]) {
		begin--
	}
	for end < len(lines) && continues(lines[end-1]) {
		end++
	}
	var text []string
	for _, l := range lines[begin:end] {
		text = append(text, strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(l, " \t"), `\`)))
	}
	if open := text[len(text)-1]; open == "(" || open == "{" {
		text = append(text, "…")
	}
	return begin, strings.Join(text, " ")
}

// continues reports whether a command continues on the next line.
func continues(line string) bool {
	line = strings.TrimRight(line, " \t")
	return strings.HasSuffix(line, `\`) || strings.HasSuffix(line, "|") || strings.HasSuffix(line, "&&")
}

// squeeze removes white space and the semicolons that a shell adds.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == ';' {
			return -1
		}
		return r
	}, text)
}

// oneLine joins a text into one line and truncates it.
func oneLine(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ", "\r", "").Replace(text))
	if len(text) <= maxCommand {
		return text
	}
	end := maxCommand
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " …"
}
