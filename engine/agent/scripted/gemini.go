package scripted

import (
	"markmill/notebooks/codec"
)

// gemini is the generateContent API of Gemini.
type gemini struct{}

func (gemini) read(body []byte) (results int, tools []tool, err error) {
	var request struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse codec.Raw `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []tool `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := codec.Unmarshal(body, &request); err != nil {
		return 0, nil, err
	}
	for _, c := range request.Contents {
		for _, p := range c.Parts {
			if len(p.FunctionResponse) > 0 {
				results++
			}
		}
	}
	for _, t := range request.Tools {
		tools = append(tools, t.FunctionDeclarations...)
	}
	return results, tools, nil
}

func (gemini) stream(t Turn, c *call, id string) []string {
	var out []string
	chunk := func(finish string, parts ...any) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": list(parts)}}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		out = append(out, event("", object{"responseId": id, "modelVersion": "scripted", "candidates": list{candidate},
			"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}}))
	}
	if t.Think > 0 {
		chunk("", object{"thought": true, "text": reasoning(t.Think)})
	}
	if t.Say != "" {
		chunk("", object{"text": t.Say})
	}
	finish := "STOP"
	if t.Refuse {
		finish = "SAFETY"
	}
	if c != nil {
		chunk(finish, object{"functionCall": object{"id": "c_" + id, "name": c.tool.Name, "args": c.args}})
	} else {
		chunk(finish, object{"text": ""})
	}
	return out
}
