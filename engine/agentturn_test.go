package engine

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"markmill/runs"
)

// TestBoundedTexts: a text that the journal cuts ends with a whole character, and one that fits stays whole.
func TestBoundedTexts(t *testing.T) {
	for name, text := range map[string]string{
		"at the limit":             strings.Repeat("x", journalText),
		"above it":                 strings.Repeat("x", journalText+1),
		"a character at the limit": strings.Repeat("x", journalText-1) + "é" + strings.Repeat("y", 100),
		"short":                    "done",
	} {
		kept, cut := bounded(text)
		if len(kept)+cut != len(text) || len(kept) > journalText || !utf8.ValidString(kept) ||
			(cut == 0) != (len(text) <= journalText) {
			t.Errorf("%s: %d of %d bytes, %d cut", name, len(kept), len(text), cut)
		}
	}
}

// TestContinuePrompt: an agent whose turn was cut is told which of its commands had ended, the last twenty.
func TestContinuePrompt(t *testing.T) {
	if text := continuePrompt([]runs.AgentData{{Kind: runs.AgentMessage, Text: "hello"}}); strings.Contains(text, "$") {
		t.Error(text)
	}
	var turn []runs.AgentData
	for i := range 30 {
		turn = append(turn, runs.AgentData{Kind: runs.AgentTool}, runs.AgentData{Kind: runs.AgentCommand,
			Command: fmt.Sprint("make ", i)})
	}
	text := continuePrompt(turn)
	if !strings.HasPrefix(text, "Your turn was interrupted.") || !strings.HasSuffix(text, "\n$ make 29") ||
		!strings.Contains(text, "\n$ make 10\n") || strings.Contains(text, "$ make 9\n") {
		t.Error(text)
	}
}
