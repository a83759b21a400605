package scripted

import (
	"markmill/notebooks/codec"
)

// messages is Anthropic's Messages API.
type messages struct{}

func (messages) read(body []byte) (results int, tools []tool, err error) {
	var request struct {
		Messages []struct {
			Content codec.Raw `json:"content"` // a text, or a list of blocks
		} `json:"messages"`
		Tools []tool `json:"tools"`
	}
	if err := codec.Unmarshal(body, &request); err != nil {
		return 0, nil, err
	}
	for _, m := range request.Messages {
		var blocks []struct {
			Type string `json:"type"`
		}
		if codec.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results++
			}
		}
	}
	return results, request.Tools, nil
}

func (messages) stream(t Turn, c *call, id string) []string {
	out := []string{event("message_start", object{"type": "message_start", "message": object{"id": "msg_" + id,
		"type": "message", "role": "assistant", "model": "scripted", "content": list{}, "stop_reason": nil,
		"stop_sequence": nil, "usage": object{"input_tokens": 100, "output_tokens": 1}}})}
	index := 0
	block := func(start object, deltas ...object) {
		out = append(out, event("content_block_start", object{"type": "content_block_start", "index": index,
			"content_block": start}))
		for _, d := range deltas {
			out = append(out, event("content_block_delta", object{"type": "content_block_delta", "index": index,
				"delta": d}))
		}
		out = append(out, event("content_block_stop", object{"type": "content_block_stop", "index": index}))
		index++
	}
	stop := "end_turn"
	if t.Think > 0 {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": reasoning(t.Think)},
			object{"type": "signature_delta", "signature": "c2ln"})
	}
	if t.Say != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.Say})
	}
	if t.Refuse {
		stop = "refusal"
	}
	if c != nil {
		args, _ := codec.Marshal(c.args)
		block(object{"type": "tool_use", "id": "toolu_" + id, "name": c.tool.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(args)})
		stop = "tool_use"
	}
	return append(out, event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop,
		"stop_sequence": nil}, "usage": object{"output_tokens": 20}}), event("message_stop", object{
		"type": "message_stop"}))
}
