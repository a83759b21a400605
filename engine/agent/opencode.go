package agent

import (
	"markmill/notebooks/codec"
	"markmill/runs"
)

// opencode is the agent of opencode.ai.
type opencode struct{}

func (opencode) Name() string          { return "opencode" }
func (opencode) Program() string       { return "opencode" }
func (opencode) Tested() []string      { return []string{"1.18.33"} }
func (opencode) Credentials() []string { return []string{"OPENAI_API_KEY"} }

func (opencode) Call(t Turn) Call {
	type obj = map[string]any
	model := t.Model
	config := obj{"autoupdate": false, "share": "disabled", "snapshot": false, // Markmill keeps every version
		"permission": obj{"edit": "allow", "bash": "allow", "webfetch": "deny", "external_directory": "allow"}}
	if t.Endpoint != "" {
		options := obj{"baseURL": t.Endpoint}
		if t.Key != "" {
			options["apiKey"] = "{env:" + t.Key + "}"
		}
		if model == "" {
			model = "default"
		}
		config["provider"] = obj{"markmill": obj{"npm": "@ai-sdk/openai-compatible", "name": "markmill",
			"options": options,
			"models":  obj{model: obj{"name": model}}}}
		model = "markmill/" + model
	}
	args := []string{"run", "--format", "json"}
	if model != "" {
		config["model"], config["small_model"] = model, model
		args = append(args, "--model", model)
	}
	if t.Session != "" {
		args = append(args, "--session", t.Session)
	}
	return Call{Args: args, Env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"}, Input: []byte(t.Prompt),
		Files: map[string][]byte{".config/opencode/opencode.json": codec.RawOf(config)}}
}

func (opencode) Reader() Reader { return &opencodeReader{} }

type opencodeReader struct {
	turn
	told bool // the session's id
}

type opencodeEvent struct {
	Type    string `json:"type"`
	Session string `json:"sessionID"`
	Part    struct {
		ID     string  `json:"id"`
		Text   string  `json:"text"`
		Tool   string  `json:"tool"`
		CallID string  `json:"callID"`
		Reason string  `json:"reason"`
		Cost   float64 `json:"cost"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Cache  struct {
				Read int64 `json:"read"`
			} `json:"cache"`
		} `json:"tokens"`
		State struct {
			Status   string    `json:"status"`
			Input    codec.Raw `json:"input"`
			Output   string    `json:"output"`
			Error    string    `json:"error"`
			Metadata struct {
				Exit *int `json:"exit"`
			} `json:"metadata"`
		} `json:"state"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
}

func (r *opencodeReader) Line(line []byte) []runs.AgentData {
	var e opencodeEvent
	if !object(line, &e) {
		return r.notEvent(line)
	}
	var out []runs.AgentData
	if !r.told && e.Session != "" {
		r.told = true
		out = one(runs.AgentData{Kind: runs.AgentSession, Session: e.Session})
	}
	return r.note(append(out, r.event(line, &e)...))
}

func (r *opencodeReader) event(line []byte, e *opencodeEvent) []runs.AgentData {
	p := &e.Part
	switch e.Type {
	case "step_start":
		return nil
	case "text":
		return one(runs.AgentData{Kind: runs.AgentMessage, ID: p.ID, Text: p.Text})
	case "reasoning":
		return one(reasoned(p.Text))
	case "tool_use":
		return r.used(e)
	case "step_finish":
		r.ended = p.Reason != "tool-calls"
		if p.Reason == "content-filter" {
			r.fail(runs.CodeProviderRefused, "the model's provider filtered its answer")
		}
		return one(runs.AgentData{Kind: runs.AgentUsage, Usage: &runs.AgentTokens{Input: p.Tokens.Input,
			Cached: p.Tokens.Cache.Read, Output: p.Tokens.Output, CostUSD: p.Cost}})
	case "error":
		r.ended = true
		why := e.Error.Name + ": " + e.Error.Data.Message
		if e.Error.Data.Status == 401 || e.Error.Data.Status == 403 {
			r.fail(runs.CodeProviderAuth, why)
		}
		r.fail(failureCode(why), why)
		return one(runs.AgentData{Kind: runs.AgentError, Text: why})
	}
	return raw(line)
}

// used is a tool call that has returned: the program tells both at once.
func (r *opencodeReader) used(e *opencodeEvent) []runs.AgentData {
	p := &e.Part
	out := one(runs.AgentData{Kind: runs.AgentTool, ID: p.CallID, Tool: p.Tool, Args: string(p.State.Input)})
	var input struct {
		Command  string `json:"command"`
		FilePath string `json:"filePath"`
	}
	_ = codec.Unmarshal(p.State.Input, &input)
	switch {
	case p.Tool == "bash":
		exit := p.State.Metadata.Exit
		if exit == nil && p.State.Status == "error" {
			one := 1
			exit = &one
		}
		text := p.State.Output
		if text == "(no output)" {
			text = ""
		}
		out = append(out, output(runs.AgentData{Kind: runs.AgentCommand, ID: p.CallID, Command: input.Command,
			Exit: exit}, text+p.State.Error))
	case p.State.Status == "error":
		out = append(out, runs.AgentData{Kind: runs.AgentError, ID: p.CallID, Text: p.State.Error})
	case p.Tool == "edit", p.Tool == "write", p.Tool == "patch":
		out = append(out, runs.AgentData{Kind: runs.AgentEdit, ID: p.CallID, Path: input.FilePath})
	}
	return out
}

func (r *opencodeReader) End(exit int, stderr string) []runs.AgentData {
	return one(r.end(exit, stderr))
}
