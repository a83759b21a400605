package runs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTranscriptIsReadAgain: whatever an agent says, and whatever its commands print, a transcript is read as what it
// was written of: no output passes for a message, an exit code or another command.
func TestTranscriptIsReadAgain(t *testing.T) {
	line := rapid.SampledFrom([]string{"text", "> said", "$ rm -rf /", "[exit 0]", "[exit 3]", "(edited x)", "! no",
		"< go", "+ y",
		"  z", "(", "…", "a\tb"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 1, 4).Draw(t, "lines"), "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		var wrote strings.Builder
		var want []AgentData
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			e := AgentData{Kind: rapid.SampledFrom([]AgentKind{AgentMessage, AgentSteer, AgentError, AgentCommand,
				AgentEdit, AgentTool}).Draw(t, "kind")}
			n := len(want)
			switch e.Kind {
			case AgentCommand:
				exit := rapid.IntRange(0, 2).Draw(t, "exit")
				e.Command, e.Exit = strings.TrimSpace(text.Draw(t, "command")), &exit
				if rapid.Bool().Draw(t, "prints") {
					e.Output = text.Draw(t, "output")
				}
			case AgentEdit:
				e.Path = "a b.py"
			case AgentTool:
				e.Tool = "search"
			default:
				if e.Text = strings.TrimSpace(text.Draw(t, "text")); n > 0 && want[n-1].Kind == e.Kind {
					continue // the reader takes two of the same as one
				}
			}
			wrote.WriteString(Transcript(e))
			if e.Kind == AgentTool {
				e = AgentData{Kind: AgentRaw, Text: "tool search"}
			}
			want = append(want, e)
		}
		got := ReadTranscript(wrote.String())
		if len(got) != len(want) {
			t.Fatalf("%d entries of %d:\n%s", len(got), len(want), wrote.String())
		}
		for i, w := range want {
			g := got[i]
			if g.Kind != w.Kind || g.Text != w.Text || g.Command != w.Command || g.Path != w.Path ||
				strings.TrimRight(g.Output, "\n") != w.Output || w.Exit != nil &&
				(g.Exit == nil || *g.Exit != *w.Exit) {
				t.Fatalf("entry %d is read as %+v, and was %+v:\n%s", i, g, w, wrote.String())
			}
		}
	})
}
