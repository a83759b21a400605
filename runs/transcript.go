package runs

import (
	"fmt"
	"strings"
)

// shownOutput is how much of a command's output the transcript shows; the raw log has all of it.
const shownOutput = 8 << 10

// How the lines of a transcript begin. What a command printed is indented, so that it cannot pass for anything else.
const (
	saidMark  = "> " // what the agent says
	toldMark  = "< " // what an operator says
	runMark   = "$ " // a command
	moreMark  = "+ " // its further lines
	printMark = "  " // what it printed
	faultMark = "! " // an error, and why a turn is no success
)

// Transcript returns an event of an agent's turn as people read it, in whole lines; "" for one that they need not see.
// It says nothing that differs from turn to turn without a reason, as ids do. ReadTranscript reads it again.
func Transcript(e AgentData) string {
	switch e.Kind {
	case AgentMessage:
		return marked(saidMark, saidMark, e.Text)
	case AgentReasoning:
		return fmt.Sprintf("(reasoning withheld: %d bytes)\n", e.Bytes)
	case AgentTool:
		if e.Tool == "command" || isShell(e.Tool) {
			return "" // the command says it when it has ended
		}
		return "(tool " + oneLine(e.Tool) + ")\n"
	case AgentCommand:
		return commandText(e)
	case AgentEdit:
		return "(edited " + oneLine(e.Path) + ")\n"
	case AgentSteer:
		return marked(toldMark, toldMark, e.Text)
	case AgentRetry:
		return "(asks the model again: " + lastWords(e.Text) + ")\n"
	case AgentError:
		return marked(faultMark, faultMark, e.Text)
	case AgentUsage:
		if u := e.Usage; u != nil && u.Input+u.Output > 0 {
			return "(" + usageWords(u) + ")\n"
		}
	case AgentResume:
		return "(the turn was cut here, and goes on)\n"
	case AgentEnd:
		if e.Code != "" {
			return faultMark + oneLine(e.Code) + ": " + lastWords(e.Why) + "\n"
		}
	}
	return ""
}

// marked marks the lines of a text.
func marked(first, more, text string) string {
	var b strings.Builder
	mark := first
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		b.WriteString(strings.TrimRight(mark+strings.TrimSuffix(line, "\r"), " ") + "\n")
		mark = more
	}
	return b.String()
}

func usageWords(u *AgentTokens) string {
	words := fmt.Sprintf("used %d tokens in", u.Input)
	if u.Cached > 0 {
		words += fmt.Sprintf(", %d of them cached", u.Cached)
	}
	words += fmt.Sprintf(", %d out", u.Output)
	if u.CostUSD > 0 {
		words += fmt.Sprintf(", $%.4f", u.CostUSD)
	}
	return words
}

func isShell(tool string) bool {
	return tool == "Bash" || tool == "bash" || tool == "run_shell_command"
}

func commandText(e AgentData) string {
	text := e.Output
	if len(text) > shownOutput {
		cut := len(text) - shownOutput
		text = fmt.Sprintf("… %d bytes, which the raw log has\n%s", cut, strings.ToValidUTF8(text[cut:], ""))
	}
	if text == "" && e.Bytes > 0 { // of a turn that was cut
		text = fmt.Sprintf("… %d bytes, which the raw log has", e.Bytes)
	}
	var b strings.Builder
	b.WriteString(marked(runMark, moreMark, e.Command))
	if text = strings.TrimRight(text, "\n"); text != "" {
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(strings.TrimRight(printMark+line, " \r") + "\n")
		}
	}
	if e.Exit != nil && *e.Exit != 0 {
		fmt.Fprintf(&b, "[exit %d]\n", *e.Exit)
	}
	return b.String()
}

// oneLine is a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// lastWords is the end of a text, in one line.
func lastWords(text string) string {
	const most = 300
	if text = oneLine(text); len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}

// ReadTranscript reads a transcript, or a part of one: messages, commands with Output and Exit, edits, what an operator
// said, and errors. Everything else is an AgentRaw with its words as Text. Lines that are none of a transcript, as the
// words between the parts of a long one, are, too.
func ReadTranscript(text string) (turn []AgentData) {
	add := func(kind AgentKind) *AgentData {
		turn = append(turn, AgentData{Kind: kind})
		return &turn[len(turn)-1]
	}
	// last is the entry that the line before was of, if it is of that kind.
	last := func(kind AgentKind) *AgentData {
		if n := len(turn); n > 0 && turn[n-1].Kind == kind {
			return &turn[n-1]
		}
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		mark, rest := line, ""
		if len(line) > 2 {
			mark, rest = line[:2], line[2:]
		}
		command, exit := last(AgentCommand), 0
		switch mark {
		case ">", saidMark, "<", toldMark, "!", faultMark:
			kind := map[byte]AgentKind{'>': AgentMessage, '<': AgentSteer, '!': AgentError}[mark[0]]
			if e := last(kind); e != nil {
				e.Text += "\n" + rest
			} else {
				add(kind).Text = rest
			}
			continue
		case "$", runMark:
			e := add(AgentCommand)
			e.Command, e.Exit = rest, &exit
			continue
		}
		switch {
		case command == nil:
		case mark == moreMark || mark == "+":
			command.Command += "\n" + rest
			continue
		case mark == printMark || line == "":
			command.Output += rest + "\n"
			continue
		default:
			if n, _ := fmt.Sscanf(line, "[exit %d]", &exit); n == 1 {
				command.Exit = &exit
				continue
			}
		}
		if path, ok := strings.CutPrefix(line, "(edited "); ok {
			add(AgentEdit).Path = strings.TrimSuffix(path, ")")
		} else if line != "" {
			add(AgentRaw).Text = strings.TrimSuffix(strings.TrimPrefix(line, "("), ")")
		}
	}
	return turn
}
