package agent

import (
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// codex is OpenAI's codex. Its inner sandbox is off, because Markmill's confines it.
type codex struct{}

func (codex) Name() string          { return "codex" }
func (codex) Program() string       { return "codex" }
func (codex) Tested() []string      { return []string{"0.169.0"} }
func (codex) Credentials() []string { return []string{"OPENAI_API_KEY"} }

func (codex) Call(t Turn) Call {
	args := []string{"exec"}
	if t.Session != "" {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	if t.Session != "" {
		args = append(args, t.Session)
	}
	// A snapshot of the shell is a file in its home with the whole environment, and so with the credentials.
	config := "check_for_update_on_startup = false\n[analytics]\nenabled = false\n[features]\nshell_snapshot = false\n"
	if t.Endpoint != "" || t.Key != "" {
		base := t.Endpoint
		if base == "" {
			base = "https://api.openai.com/v1"
		}
		config = fmt.Sprintf("model_provider = \"markmill\"\n%s[model_providers.markmill]\nname = \"markmill\"\n"+
			"base_url = %s\nwire_api = \"responses\"\n", config, quoted(base))
		if t.Key != "" {
			config += "env_key = " + quoted(t.Key) + "\n"
		}
	}
	return Call{Args: append(args, "-"), Env: []string{"CODEX_HOME=" + t.Home + "/.codex"}, Input: []byte(t.Prompt),
		Files: map[string][]byte{".codex/config.toml": []byte(config)}}
}

// quoted is a text as a string of JSON, which is also a basic string of TOML.
func quoted(s string) string { return string(codec.RawOf(s)) }

func (codex) Reader() Reader { return &codexReader{} }

type codexReader struct{ turn }

type codexEvent struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage *struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Item struct {
		ID      string    `json:"id"`
		Type    string    `json:"type"`
		Text    string    `json:"text"`
		Message string    `json:"message"`
		Command string    `json:"command"`
		Output  string    `json:"aggregated_output"`
		Exit    *int      `json:"exit_code"`
		Server  string    `json:"server"`
		Tool    string    `json:"tool"`
		Args    codec.Raw `json:"arguments"`
		Query   string    `json:"query"`
		Changes []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
		} `json:"changes"`
	} `json:"item"`
}

func (r *codexReader) Line(line []byte) []runs.AgentData {
	var e codexEvent
	if !object(line, &e) {
		return r.notEvent(line)
	}
	return r.note(r.event(line, &e))
}

func (r *codexReader) event(line []byte, e *codexEvent) []runs.AgentData {
	switch e.Type {
	case "thread.started":
		return one(runs.AgentData{Kind: runs.AgentSession, Session: e.ThreadID})
	case "turn.started":
		return nil
	case "item.started", "item.updated":
		if e.Type == "item.started" && e.Item.Type == "command_execution" {
			return one(runs.AgentData{Kind: runs.AgentTool, ID: e.Item.ID, Tool: "command", Args: e.Item.Command})
		}
		return nil
	case "item.completed":
		return r.item(line, e)
	case "turn.completed":
		r.ended = true
		if e.Usage != nil {
			return one(runs.AgentData{Kind: runs.AgentUsage, Usage: &runs.AgentTokens{Input: e.Usage.Input,
				Cached: e.Usage.Cached, Output: e.Usage.Output}})
		}
		return nil
	case "turn.failed":
		r.ended = true
		r.fail(failureCode(e.Error.Message), e.Error.Message)
		return nil
	case "error":
		if strings.HasPrefix(e.Message, "Reconnecting") {
			return one(runs.AgentData{Kind: runs.AgentRetry, Text: e.Message})
		}
		return one(runs.AgentData{Kind: runs.AgentError, Text: e.Message})
	}
	return raw(line)
}

func (r *codexReader) item(line []byte, e *codexEvent) []runs.AgentData {
	i := &e.Item
	switch i.Type {
	case "agent_message":
		return one(runs.AgentData{Kind: runs.AgentMessage, ID: i.ID, Text: i.Text})
	case "reasoning":
		return one(reasoned(i.Text))
	case "command_execution":
		return one(output(runs.AgentData{Kind: runs.AgentCommand, ID: i.ID, Command: i.Command, Exit: i.Exit},
			i.Output))
	case "file_change":
		var out []runs.AgentData
		for _, c := range i.Changes {
			out = append(out, runs.AgentData{Kind: runs.AgentEdit, ID: i.ID, Path: c.Path})
		}
		return out
	case "mcp_tool_call":
		return one(runs.AgentData{Kind: runs.AgentTool, ID: i.ID, Tool: i.Server + "." + i.Tool, Args: string(i.Args)})
	case "web_search":
		return one(runs.AgentData{Kind: runs.AgentTool, ID: i.ID, Tool: i.Type, Args: i.Query})
	case "error":
		return one(runs.AgentData{Kind: runs.AgentError, Text: i.Message})
	}
	return raw(line)
}

func (r *codexReader) End(exit int, stderr string) []runs.AgentData { return one(r.end(exit, stderr)) }
