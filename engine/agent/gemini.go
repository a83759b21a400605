package agent

import (
	"cmp"
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// gemini is Google's Gemini CLI.
type gemini struct{}

func (gemini) Name() string          { return "gemini" }
func (gemini) Program() string       { return "gemini" }
func (gemini) Tested() []string      { return []string{"0.61.0"} }
func (gemini) Credentials() []string { return []string{"GEMINI_API_KEY"} }

func (gemini) Call(t Turn) Call {
	args := []string{"--skip-trust", "--yolo", "-o", "stream-json"}
	if t.Model != "" {
		args = append(args, "-m", t.Model)
	}
	if t.Session != "" {
		args = append(args, "--resume", t.Session)
	}
	var env []string
	if t.Endpoint != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+t.Endpoint)
	}
	const settings = `{"security":{"auth":{"selectedType":"gemini-api-key"}},"telemetry":{"enabled":false},` +
		`"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true,"disableUpdateNag":true}}`
	return Call{Args: args, Env: env, Input: []byte(t.Prompt),
		Files: map[string][]byte{".gemini/settings.json": []byte(settings)}}
}

func (gemini) Reader() Reader { return &geminiReader{calls: map[string]string{}} }

type geminiReader struct {
	turn
	calls   map[string]string // commands that run, by the id of their call; edits begin with NUL
	said    strings.Builder   // a message that comes in pieces
	pending bool
	problem string // the last error that it told
}

type geminiEvent struct {
	Type    string    `json:"type"`
	Session string    `json:"session_id"`
	Model   string    `json:"model"`
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Delta   bool      `json:"delta"`
	Tool    string    `json:"tool_name"`
	ToolID  string    `json:"tool_id"`
	Params  codec.Raw `json:"parameters"`
	Status  string    `json:"status"`
	Output  string    `json:"output"`
	Message string    `json:"message"`
	Level   string    `json:"severity"`
	Error   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
	} `json:"stats"`
}

func (r *geminiReader) Line(line []byte) []runs.AgentData {
	var e geminiEvent
	if !object(line, &e) {
		return r.notEvent(line)
	}
	if e.Type == "message" && e.Role == "assistant" && e.Delta {
		r.pending = true
		r.said.WriteString(e.Content)
		return nil
	}
	return r.note(append(r.whole(), r.event(line, &e)...))
}

// whole is the message that came in pieces.
func (r *geminiReader) whole() []runs.AgentData {
	if !r.pending {
		return nil
	}
	text := r.said.String()
	r.said.Reset()
	r.pending = false
	if text == "" {
		return nil
	}
	return one(runs.AgentData{Kind: runs.AgentMessage, Text: text})
}

func (r *geminiReader) event(line []byte, e *geminiEvent) []runs.AgentData {
	switch e.Type {
	case "init":
		return one(runs.AgentData{Kind: runs.AgentSession, Session: e.Session, Model: e.Model})
	case "message":
		if e.Role == "assistant" {
			return one(runs.AgentData{Kind: runs.AgentMessage, Text: e.Content})
		}
		return nil // the prompt
	case "thought":
		return one(reasoned(e.Content))
	case "tool_use":
		var input struct {
			Command  string `json:"command"`
			FilePath string `json:"file_path"`
		}
		_ = codec.Unmarshal(e.Params, &input)
		switch e.Tool {
		case "run_shell_command":
			r.calls[e.ToolID] = input.Command
		case "replace", "write_file":
			r.calls[e.ToolID] = "\x00" + input.FilePath
		}
		return one(runs.AgentData{Kind: runs.AgentTool, ID: e.ToolID, Tool: e.Tool, Args: string(e.Params)})
	case "tool_result":
		return r.returned(e)
	case "error":
		r.problem = strings.TrimSpace(e.Message + e.Error.Message)
		return one(runs.AgentData{Kind: runs.AgentError, Text: r.problem})
	case "result":
		r.ended = true
		if e.Status != "success" {
			why := cmp.Or(e.Error.Message, r.problem, "its result is "+e.Status)
			r.fail(failureCode(why), why)
		}
		if e.Stats != nil {
			return one(runs.AgentData{Kind: runs.AgentUsage, Usage: &runs.AgentTokens{Input: e.Stats.Input,
				Cached: e.Stats.Cached, Output: e.Stats.Output}})
		}
		return nil
	}
	return raw(line)
}

// exitWords begin what the shell tool says of a command that failed.
const exitWords = "Exit Code: "

func (r *geminiReader) returned(e *geminiEvent) []runs.AgentData {
	what, known := r.calls[e.ToolID]
	failed := e.Status != "success"
	text := e.Output + e.Error.Message
	if !known {
		if failed {
			return one(runs.AgentData{Kind: runs.AgentError, ID: e.ToolID, Text: text})
		}
		return nil
	}
	delete(r.calls, e.ToolID)
	if path, edit := strings.CutPrefix(what, "\x00"); edit && !failed {
		return one(runs.AgentData{Kind: runs.AgentEdit, ID: e.ToolID, Path: path})
	} else if edit {
		return one(runs.AgentData{Kind: runs.AgentError, ID: e.ToolID, Text: text})
	}
	exit := 0
	if failed {
		exit = 1
	}
	if _, after, ok := strings.Cut(text, exitWords); ok {
		fmt.Sscan(after, &exit)
	}
	return one(output(runs.AgentData{Kind: runs.AgentCommand, ID: e.ToolID, Command: what, Exit: &exit}, text))
}

func (r *geminiReader) End(exit int, stderr string) []runs.AgentData {
	return append(r.note(r.whole()), r.end(exit, stderr))
}
