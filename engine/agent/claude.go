package agent

import (
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// claude is Anthropic's Claude Code. It asks nobody before it acts, because Markmill's sandbox confines it.
type claude struct{}

func (claude) Name() string          { return "claude" }
func (claude) Program() string       { return "claude" }
func (claude) Tested() []string      { return []string{"2.1.197"} }
func (claude) Credentials() []string { return []string{"ANTHROPIC_API_KEY"} }

func (claude) Call(t Turn) Call {
	args := []string{"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
		"--dangerously-skip-permissions"}
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	if t.Session != "" {
		args = append(args, "--resume", t.Session)
	}
	// IS_SANDBOX lets it skip its permissions for root, too. Ten retries, its default, take longer than anybody waits
	// for an answer that says that the key is wrong.
	env := []string{"IS_SANDBOX=1", "CLAUDE_CODE_MAX_RETRIES=4", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_TMPDIR=" + t.Tmp}
	if t.Endpoint != "" {
		env = append(env, "ANTHROPIC_BASE_URL="+t.Endpoint)
	}
	return Call{Args: args, Env: env, Input: userMessage(t.Prompt), Steer: userMessage}
}

// userMessage is what a user says, as a line of the input.
func userMessage(text string) []byte {
	type object = map[string]any
	line := codec.RawOf(object{"type": "user", "message": object{"role": "user",
		"content": []object{{"type": "text", "text": text}}}})
	return append([]byte(line), '\n')
}

func (claude) Reader() Reader { return &claudeReader{calls: map[string]string{}} }

type claudeReader struct {
	turn
	calls map[string]string // commands that run, by the id of their call
	auth  bool              // the API refused the credentials, and the program asks again
}

type claudeEvent struct {
	Type     string  `json:"type"`
	Subtype  string  `json:"subtype"`
	Session  string  `json:"session_id"`
	Model    string  `json:"model"`
	Version  string  `json:"claude_code_version"`
	IsError  bool    `json:"is_error"`
	Status   *int    `json:"api_error_status"`
	Result   string  `json:"result"`
	Stop     string  `json:"stop_reason"`
	CostUSD  float64 `json:"total_cost_usd"`
	Attempt  int     `json:"attempt"`
	ErrorWas any     `json:"error"`
	HTTP     int     `json:"error_status"`
	Usage    *struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cache_read_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Message struct {
		Model   string    `json:"model"`
		Content codec.Raw `json:"content"` // blocks, or a text
	} `json:"message"`
}

type claudeBlock struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Thinking  string    `json:"thinking"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Input     codec.Raw `json:"input"`
	ToolUseID string    `json:"tool_use_id"`
	Content   codec.Raw `json:"content"` // a text, or blocks
	IsError   bool      `json:"is_error"`
}

func (r *claudeReader) Line(line []byte) []runs.AgentData {
	var e claudeEvent
	if !object(line, &e) {
		return r.notEvent(line)
	}
	return r.note(r.event(line, &e))
}

func (r *claudeReader) event(line []byte, e *claudeEvent) []runs.AgentData {
	switch {
	case e.Type == "system" && e.Subtype == "init":
		return one(runs.AgentData{Kind: runs.AgentSession, Session: e.Session, Model: e.Model})
	case e.Type == "system" && e.Subtype == "api_retry":
		r.auth = e.HTTP == 401 || e.HTTP == 403
		return one(runs.AgentData{Kind: runs.AgentRetry, Text: lastLines(fmt.Sprint(e.ErrorWas))})
	case e.Type == "system" && e.Subtype == "thinking_tokens":
		return nil // an estimate, while it comes
	case e.Type == "assistant" && e.Message.Model == "<synthetic>":
		return nil // what the program says in the model's place; its result says it again
	case e.Type == "assistant", e.Type == "user":
		return r.blocks(line, e.Message.Content, e.Type == "user")
	case e.Type == "result":
		r.result(e)
		if e.Usage == nil {
			return nil
		}
		return one(runs.AgentData{Kind: runs.AgentUsage, Usage: &runs.AgentTokens{Input: e.Usage.Input,
			Cached: e.Usage.Cached, Output: e.Usage.Output, CostUSD: e.CostUSD}})
	}
	return raw(line)
}

// result notes how the turn ended by the program's own word.
func (r *claudeReader) result(e *claudeEvent) {
	r.ended = true
	switch {
	case e.Stop == "refusal":
		r.fail(runs.CodeProviderRefused, e.Result)
	case e.IsError && r.auth:
		r.fail(runs.CodeProviderAuth, e.Result)
	case e.IsError && e.Status != nil:
		r.fail(failureCode(fmt.Sprintf("%d %s", *e.Status, e.Result)), e.Result)
	case e.IsError:
		why := e.Result
		if why == "" {
			why = e.Subtype
		}
		r.fail(failureCode(why), why)
	}
}

func (r *claudeReader) blocks(line []byte, content codec.Raw, user bool) []runs.AgentData {
	var blocks []claudeBlock
	if codec.Unmarshal(content, &blocks) != nil {
		return raw(line)
	}
	var out []runs.AgentData
	for _, b := range blocks {
		if user && b.Type == "text" {
			continue // what the program says in the user's place
		}
		switch b.Type {
		case "text":
			out = append(out, runs.AgentData{Kind: runs.AgentMessage, Text: b.Text})
		case "thinking", "redacted_thinking":
			out = append(out, reasoned(b.Thinking))
		case "tool_use":
			out = append(out, r.call(b))
		case "tool_result":
			out = append(out, r.returned(b)...)
		default:
			out = append(out, raw(line)...)
		}
	}
	return out
}

// call is a tool call. What a command printed, and which file an edit changed, is told when it returns.
func (r *claudeReader) call(b claudeBlock) runs.AgentData {
	var input struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	_ = codec.Unmarshal(b.Input, &input)
	switch b.Name {
	case "Bash":
		r.calls[b.ID] = input.Command
	case "Edit", "Write", "NotebookEdit":
		r.calls[b.ID] = "\x00" + input.FilePath + input.Notebook
	}
	return runs.AgentData{Kind: runs.AgentTool, ID: b.ID, Tool: b.Name, Args: string(b.Input)}
}

func (r *claudeReader) returned(b claudeBlock) []runs.AgentData {
	what, known := r.calls[b.ToolUseID]
	if !known {
		return nil
	}
	delete(r.calls, b.ToolUseID)
	text := textOf(b.Content)
	if path, edit := strings.CutPrefix(what, "\x00"); edit {
		if b.IsError {
			return one(runs.AgentData{Kind: runs.AgentError, ID: b.ToolUseID, Text: text})
		}
		return one(runs.AgentData{Kind: runs.AgentEdit, ID: b.ToolUseID, Path: path})
	}
	exit := 0
	if b.IsError {
		exit = 1
		fmt.Sscanf(text, "Exit code %d", &exit)
	}
	return one(output(runs.AgentData{Kind: runs.AgentCommand, ID: b.ToolUseID, Command: what, Exit: &exit}, text))
}

// textOf is a content that is a text, or blocks of text.
func textOf(content codec.Raw) string {
	var text string
	if codec.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	_ = codec.Unmarshal(content, &blocks)
	for _, b := range blocks {
		text += b.Text
	}
	return text
}

func (r *claudeReader) End(exit int, stderr string) []runs.AgentData {
	if r.auth && !r.ended {
		r.fail(runs.CodeProviderAuth, "the API refuses the credentials")
	}
	return one(r.end(exit, stderr))
}
