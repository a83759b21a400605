package magics

import (
	"strings"

	"markmill/notebooks/lazyregexp"
)

// Which selects which comments are commands.
type Which int

const (
	// Plain are those that can be nothing else: the script was written by hand, where "# copy the table" is a comment.
	Plain Which = iota
	// Escaped are all that Jupytext comments out: by the looks of the line, and so with every comment of these looks.
	Escaped
	// Unmarked are those of a cell without a mark in a light script: a word and a question mark is a comment there.
	Unmarked
)

var (
	general     = lazyregexp.New(`^\s*(?:%|%%|%%%)[a-zA-Z]`)
	goCommand   = lazyregexp.New(`^(?:!|!\*|%|%%|%%%)[a-zA-Z]`)
	rustCommand = lazyregexp.New(`^:[a-zA-Z]`)
	shellOrHelp = lazyregexp.New(`^\s*[?!]\s*[A-Za-z.~$\\/{}]`)
	shell       = lazyregexp.New(`^![A-Za-z.~$\\/{}]`)
	assigned    = lazyregexp.New(`^\s*[a-zA-Z_][a-zA-Z_$0-9]*\s*=\s*(?:%|%%|%%%|!)[a-zA-Z]`)
	helpAfter   = lazyregexp.New(`^\s*[^\s]*\?\s*$`)
	posix       = lazyregexp.New(`^(?:cat|cd|cp|mv|rm|rmdir|mkdir|copy|ddir|echo|ls|ldir|ren)(?:$|\s$|\s[^=,])`)
	escape      = lazyregexp.New(`(?:#|//|--|;;|%)\s*escape`)
	noescape    = lazyregexp.New(`(?:#|//|--|;;|%)\s*noescape`)
	gonb        = lazyregexp.New(`^((?://\s*)*)//\s*gonb:%%`)
)

// Uncomment takes the comment signs off the lines that hold a command. lang is the language of the cell, whose comments
// begin with sign.
func Uncomment(lines []string, lang, sign string, q Quotes, which Which) {
	l := looks{lang, sign, which}
	goesOn := false // the line before was a command that this one continues
	for i, text := range lines {
		if !q.Inside() {
			switch is := l.command(text); {
			case goesOn || is:
				lines[i] = unescaped(text, sign)
				goesOn = lang == "python" && strings.HasSuffix(strings.TrimRight(text, " \t"), `\`)
			case which != Plain && l.cellStart(text):
				if bare := unescaped(text, sign); l.cellStart(bare) {
					lines[i] = bare
				}
			}
		}
		q.Read(text)
	}
}

// IsCommand reports whether a line that is commented holds a command.
func IsCommand(text, lang, sign string, which Which) bool {
	return looks{lang, sign, which}.command(text)
}

type looks struct {
	lang, sign string
	which      Which
}

// command reports whether a line that is commented, once or more, holds a command.
func (l looks) command(text string) bool {
	bare := strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(bare, l.sign) {
		return false
	}
	indent := len(text) - len(bare)
	for strings.HasPrefix(bare, l.sign) {
		bare = Bare(bare, l.sign)
	}
	escaped := l.which == Plain || escape.MatchString(bare) || !noescape.MatchString(bare)
	switch l.lang {
	case "octave", "matlab", "sas", "jenner", "logtalk":
		return false
	case "go":
		return indent == 0 && goCommand.MatchString(bare) && escaped
	case "rust":
		return indent == 0 && rustCommand.MatchString(bare)
	}
	switch {
	case general.MatchString(bare):
		return escaped
	case l.lang != "python":
		return false
	case assigned.MatchString(bare):
		return true
	case l.which == Plain:
		return shell.MatchString(bare)
	}
	return shellOrHelp.MatchString(bare) || l.which == Escaped && helpAfter.MatchString(bare) && bare != "" ||
		indent == 0 && posix.MatchString(bare)
}

// cellStart reports whether a commented line begins a cell in Jupytext's light form, which comments such a line out
// everywhere.
func (l looks) cellStart(text string) bool {
	for strings.HasPrefix(text, l.sign) {
		rest := text[len(l.sign):]
		if strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, " +") {
			return true
		}
		text = strings.TrimPrefix(rest, " ")
	}
	return false
}

// unescaped takes one comment sign off a line, and keeps its indentation.
func unescaped(text, sign string) string {
	bare := strings.TrimLeft(text, " \t")
	return text[:len(text)-len(bare)] + Bare(bare, sign)
}

// Bare returns a line without the comment sign that it begins with, and without a space behind that.
func Bare(text, sign string) string {
	if rest, ok := strings.CutPrefix(text, sign); ok {
		return strings.TrimPrefix(rest, " ")
	}
	return text
}

var gonbCells = lazyregexp.New(`^((?://\s*)*)(%%\s*$|%%\s+-.*$)`)

// Comment puts comment signs before the commands among the lines of a cell, as Jupytext does: Uncomment with Escaped
// takes them off again. Comments that look like commented commands get a sign more. A line of Go that says gonb:%% by
// itself has no spelling that is read as that line: who converts holds what is read against what was written.
func Comment(lines []string, lang, sign string, q Quotes) {
	l := looks{lang, sign, Escaped}
	goesOn := false
	for i, text := range lines {
		if !q.Inside() {
			switch {
			case goesOn:
				lines[i] = sign + " " + text
			case l.command(commented(text, sign)):
				lines[i] = commented(text, sign)
			case l.cellStart(text) && l.cellStart(unescaped(text, sign)):
				lines[i] = sign + " " + text
			}
			goesOn = (goesOn || l.command(lines[i])) && lang == "python" &&
				strings.HasSuffix(strings.TrimRight(text, " \t"), `\`)
		}
		q.Read(lines[i])
	}
}

// UncommentCells undoes CommentCells.
func UncommentCells(lines []string) {
	for i, text := range lines {
		lines[i] = gonb.ReplaceAllString(text, "$1%%")
	}
}

// CommentCells puts a comment sign before the commands with which gonb begins a program, as Jupytext does in scripts of
// Go.
func CommentCells(lines []string) {
	for i, text := range lines {
		lines[i] = gonbCells.ReplaceAllString(text, "$1//gonb:$2")
	}
}

// commented puts one comment sign before what a line says, and keeps its indentation.
func commented(text, sign string) string {
	bare := strings.TrimLeft(text, " \t")
	return text[:len(text)-len(bare)] + sign + " " + bare
}

// Quotes follows the texts of a language from line to line, to know which lines begin within one. The zero Quotes is of
// a language in which none does.
type Quotes struct {
	Comment string // what begins a comment
	Triple  bool   // """ and ''' begin texts of several lines
	Single  bool   // so do " and '

	open string // what ends the text that is open
}

// Inside reports whether the next line begins within a text.
func (q *Quotes) Inside() bool { return q.open != "" }

// Read goes over a line.
func (q *Quotes) Read(text string) {
	if !q.Triple && !q.Single {
		return
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := rest[0]; {
		case q.open != "" && strings.HasPrefix(rest, q.open):
			i += len(q.open)
			q.open = ""
		case q.open != "" && c == '\\':
			i += 2
		case q.open != "":
			i++
		case strings.HasPrefix(rest, q.Comment):
			return
		case c == '"' || c == '\'':
			q.open = rest[:1]
			if q.Triple && len(rest) > 2 && rest[1] == c && rest[2] == c {
				q.open = rest[:3]
			}
			i += len(q.open)
		default:
			i++
		}
	}
	if len(q.open) == 1 && !q.Single {
		q.open = ""
	}
}
