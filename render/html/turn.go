package html

import (
	"fmt"
	"strings"

	"markmill/render/plain"
	"markmill/runs"
)

// turn renders the turn of an agent as a folded conversation, with its answer under it. open unfolds it.
func (p *page) turn(body string, open bool) markup {
	entries := runs.ReadTranscript(body)
	if len(entries) == 0 {
		return ""
	}
	var w writer
	unfold := markup("")
	if open {
		unfold = " open"
	}
	w.put(`<details class="turn"%s><summary>%s</summary>`, unfold, turnWords(entries))
	answer := markup("")
	for i := range entries {
		if said := p.said(&entries[i]); i == len(entries)-1 && entries[i].Kind == runs.AgentMessage {
			answer = said
		} else {
			w.put("%s", said)
		}
	}
	w.put("</details>%s", answer)
	return w.markup()
}

// turnWords sums a turn up.
func turnWords(entries []runs.AgentData) string {
	count := map[runs.AgentKind]int{}
	failed := 0
	for i := range entries {
		count[entries[i].Kind]++
		if exit := entries[i].Exit; exit != nil && *exit != 0 {
			failed++
		}
	}
	var words []string
	for _, of := range []struct {
		kind runs.AgentKind
		what string
	}{{runs.AgentMessage, "message"}, {runs.AgentCommand, "command"}, {runs.AgentEdit, "edit"},
		{runs.AgentSteer, "word from outside"}, {runs.AgentError, "error"}} {
		if n := count[of.kind]; n > 0 {
			said := plain.Counted(n, of.what)
			if of.kind == runs.AgentSteer && n > 1 {
				said = fmt.Sprintf("%d words from outside", n)
			}
			if of.kind == runs.AgentCommand && failed > 0 {
				said += fmt.Sprintf(", %d failed", failed)
			}
			words = append(words, said)
		}
	}
	return strings.Join(append([]string{"The turn"}, words...), " · ")
}

// said renders one entry of a turn.
func (p *page) said(e *runs.AgentData) markup {
	switch e.Kind {
	case runs.AgentMessage:
		return p.output("said", e.Text, false)
	case runs.AgentSteer:
		return p.output("said told", e.Text, false)
	case runs.AgentError:
		return p.output("err", e.Text, true)
	case runs.AgentEdit:
		return sprintf(`<p class="did">edited <code>%s</code></p>`, cleanLine(e.Path))
	case runs.AgentCommand:
		return p.ran(e)
	}
	return sprintf(`<p class="did dim">%s</p>`, cleanLine(e.Text))
}

// ran renders a command: its exit code, and folded what it printed.
func (p *page) ran(e *runs.AgentData) markup {
	first, more, _ := strings.Cut(e.Command, "\n")
	class, words := markup("ran"), ""
	if e.Exit != nil && *e.Exit != 0 {
		class, words = "ran fail", fmt.Sprintf("exit %d", *e.Exit)
	}
	line := sprintf(`<code>$ %s</code><span class="exit">%s</span>`, cleanLine(shortLines(first)), words)
	var w writer
	if more != "" {
		w.put("%s", p.code("bash", e.Command))
	}
	if strings.TrimSpace(e.Output) != "" {
		w.put("%s", p.output("out", e.Output, words != ""))
	}
	if w.markup() == "" {
		return sprintf(`<p class="%s">%s</p>`, class, line)
	}
	return sprintf(`<details class="%s"><summary>%s</summary>%s</details>`, class, line, w.markup())
}
