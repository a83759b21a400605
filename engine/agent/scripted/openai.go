package scripted

import (
	"markmill/notebooks/codec"
)

// named is a tool of a request.
type named struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

func toolNames(tools []named) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name, t.Function.Name)
	}
	return names
}

// responses is the Responses API.
type responses struct{}

func (responses) read(body []byte) (results int, tool string, err error) {
	var request struct {
		Input []struct {
			Type string `json:"type"`
		} `json:"input"`
		Tools []named `json:"tools"`
	}
	if err := codec.Unmarshal(body, &request); err != nil {
		return 0, "", err
	}
	for _, item := range request.Input {
		if item.Type == "function_call_output" {
			results++
		}
	}
	return results, shell(toolNames(request.Tools)), nil
}

func (responses) stream(t Turn, tool, id string) []string {
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
	if t.Run != "" {
		args, _ := codec.Marshal(arguments(tool, t.Run))
		item(object{"type": "function_call", "id": "f_" + id, "call_id": "c_" + id, "name": tool,
			"arguments": string(args)})
	}
	return append(out, event("response.completed", object{"type": "response.completed", "response": object{
		"id": "r_" + id, "usage": object{"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 10},
			"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 120}}}))
}

// chat is the Chat Completions API.
type chat struct{}

func (chat) read(body []byte) (results int, tool string, err error) {
	var request struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
		Tools []named `json:"tools"`
	}
	if err := codec.Unmarshal(body, &request); err != nil {
		return 0, "", err
	}
	for _, m := range request.Messages {
		if m.Role == "tool" {
			results++
		}
	}
	return results, shell(toolNames(request.Tools)), nil
}

func (chat) stream(t Turn, tool, id string) []string {
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
	if t.Run != "" {
		args, _ := codec.Marshal(arguments(tool, t.Run))
		chunk(object{"tool_calls": list{object{"index": 0, "id": "c_" + id, "type": "function",
			"function": object{"name": tool, "arguments": string(args)}}}}, nil)
		finish = "tool_calls"
	}
	chunk(object{}, finish)
	out = append(out, event("", object{"id": "cc_" + id, "object": "chat.completion.chunk", "created": 1,
		"model": "scripted", "choices": list{}, "usage": object{"prompt_tokens": 100, "completion_tokens": 20,
			"total_tokens": 120}}))
	return append(out, "data: [DONE]\n\n")
}
