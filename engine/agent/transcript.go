package agent

import (
	"fmt"
	"strings"

	"markmill/runs"
)

// shownOutput is how much of a command's output the transcript shows; the raw log has all of it.
const shownOutput = 8 << 10

// Transcript returns an event as people read it, in whole lines; "" for one that they need not see. It says nothing that
// differs from turn to turn without a reason, as ids do.
func Transcript(e runs.AgentData) string {
	switch e.Kind {
	case runs.AgentMessage:
		return "> " + strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "\n> ") + "\n"
	case runs.AgentReasoning:
		return fmt.Sprintf("(reasoning withheld: %d bytes)\n", e.Bytes)
	case runs.AgentTool:
		if e.Tool == "command" || isShell(e.Tool) {
			return "" // the command says it when it has ended
		}
		return fmt.Sprintf("(tool %s)\n", e.Tool)
	case runs.AgentCommand:
		return commandText(e)
	case runs.AgentEdit:
		return fmt.Sprintf("(edited %s)\n", e.Path)
	case runs.AgentSteer:
		return "< " + strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "\n< ") + "\n"
	case runs.AgentRetry:
		return "(asks the model again: " + lastLines(e.Text) + ")\n"
	case runs.AgentError:
		return "! " + strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "\n! ") + "\n"
	case runs.AgentResume:
		return "(it was cut here, and goes on)\n"
	case runs.AgentEnd:
		if e.Code != "" {
			return "! " + e.Code + ": " + lastLines(e.Why) + "\n"
		}
	}
	return ""
}

func isShell(tool string) bool {
	return tool == "Bash" || tool == "bash" || tool == "run_shell_command"
}

func commandText(e runs.AgentData) string {
	var b strings.Builder
	b.WriteString("$ " + strings.ReplaceAll(strings.TrimSpace(e.Command), "\n", "\n  ") + "\n")
	text := e.Output
	if len(text) > shownOutput {
		cut := len(text) - shownOutput
		text = fmt.Sprintf("… %d bytes, which the raw log has\n%s", cut, strings.ToValidUTF8(text[cut:], ""))
	}
	if text = strings.TrimRight(text, "\n"); text != "" {
		b.WriteString(text + "\n")
	}
	if e.Exit != nil && *e.Exit != 0 {
		fmt.Fprintf(&b, "[exit %d]\n", *e.Exit)
	}
	return b.String()
}
