package scripted

import (
	"markmill/notebooks/codec"
)

// responses is the Responses API.
type responses struct{}

func (responses) read(body []byte) (results int, tools []tool, err error) {
	var request struct {
		Input []struct {
			Type string `json:"type"`
		} `json:"input"`
		Tools []struct {
			tool
			Type  string `json:"type"`
			Tools []tool `json:"tools"` // of a namespace, as codex offers those of an MCP server
		} `json:"tools"`
	}
	if err := codec.Unmarshal(body, &request); err != nil {
		return 0, nil, err
	}
	for _, t := range request.Tools {
		if t.Type != "namespace" {
			tools = append(tools, t.tool)
		}
		for _, inner := range t.Tools {
			tools = append(tools, tool{Namespace: t.Name, Name: inner.Name})
		}
	}
	for _, item := range request.Input {
		if item.Type == "function_call_output" {
			results++
		}
	}
	return results, tools, nil
}

func (responses) stream(t Turn, c *call, id string) []string {
	out := []string{event("response.created", object{"type": "response.created", "response": object{"id": "r_" + id}})}
	item := func(item object) {
		out = append(out, event("response.output_item.done", object{"type": "response.output_item.done", "item": item}))
	}
	if t.Think > 0 {
		item(object{"type": "reasoning", "id": "rs_" + id, "encrypted_content": "", "summary": list{
			object{"type": "summary_text", "text": reasoning(t.Think)}}})
	}
	if t.Say != "" {
		kind, key := "output_text", "text"
		if t.Refuse {
			kind, key = "refusal", "refusal"
		}
		item(object{"type": "message", "id": "m_" + id, "role": "assistant", "content": list{
			object{"type": kind, key: t.Say}}})
	}
	if c != nil {
		args, _ := codec.Marshal(c.args)
		called := object{"type": "function_call", "id": "f_" + id, "call_id": "c_" + id, "name": c.tool.Name,
			"arguments": string(args)}
		if c.tool.Namespace != "" {
			called["namespace"] = c.tool.Namespace
		}
		item(called)
	}
	return append(out, event("response.completed", object{"type": "response.completed", "response": object{
		"id": "r_" + id, "usage": object{"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 10},
			"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 120}}}))
}

// chat is the Chat Completions API.
type chat struct{}

func (chat) read(body []byte) (results int, tools []tool, err error) {
	var request struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
		Tools []struct {
			Function tool `json:"function"`
		} `json:"tools"`
	}
	if err := codec.Unmarshal(body, &request); err != nil {
		return 0, nil, err
	}
	for _, m := range request.Messages {
		if m.Role == "tool" {
			results++
		}
	}
	for _, t := range request.Tools {
		tools = append(tools, t.Function)
	}
	return results, tools, nil
}

func (chat) stream(t Turn, c *call, id string) []string {
	var out []string
	chunk := func(delta object, finish any) {
		out = append(out, event("", object{"id": "cc_" + id, "object": "chat.completion.chunk", "created": 1,
			"model": "scripted", "choices": list{object{"index": 0, "delta": delta, "finish_reason": finish}}}))
	}
	finish := "stop"
	chunk(object{"role": "assistant", "content": ""}, nil)
	if t.Think > 0 {
		chunk(object{"reasoning_content": reasoning(t.Think)}, nil)
	}
	if t.Say != "" {
		chunk(object{"content": t.Say}, nil)
	}
	if t.Refuse {
		finish = "content_filter"
	}
	if c != nil {
		args, _ := codec.Marshal(c.args)
		chunk(object{"tool_calls": list{object{"index": 0, "id": "c_" + id, "type": "function",
			"function": object{"name": c.tool.Name, "arguments": string(args)}}}}, nil)
		finish = "tool_calls"
	}
	chunk(object{}, finish)
	out = append(out, event("", object{"id": "cc_" + id, "object": "chat.completion.chunk", "created": 1,
		"model": "scripted", "choices": list{}, "usage": object{"prompt_tokens": 100, "completion_tokens": 20,
			"total_tokens": 120}}))
	return append(out, "data: [DONE]\n\n")
}
