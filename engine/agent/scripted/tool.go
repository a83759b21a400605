package scripted

import (
	"slices"
	"strings"
)

// tool is one that a request offers.
type tool struct {
	Namespace string `json:"-"` // the server that has it, where the API says so apart
	Name      string `json:"name"`
}

// call is a tool that a turn calls.
type call struct {
	tool tool
	args any
}

// shellTools are the names of the tools that run commands.
var shellTools = []string{"exec_command", "Bash", "bash", "run_shell_command"}

// calls reports whether a turn calls a tool.
func (t *Turn) calls() bool { return t.Run != "" || t.Tool != "" }

// call is what a turn calls, of the tools that a request offers; nil where it calls none, or that one is not offered.
// Agents put the name of an MCP server before that of its tool, each in its own way.
func (t *Turn) call(tools []tool) *call {
	for _, offered := range tools {
		switch {
		case t.Run != "" && offered.Name == "exec_command":
			return &call{offered, object{"cmd": t.Run}}
		case t.Run != "" && slices.Contains(shellTools, offered.Name):
			return &call{offered, object{"command": t.Run, "description": "a scripted command"}}
		case t.Tool != "" && (offered.Name == t.Tool && offered.Namespace != "" ||
			strings.HasSuffix(offered.Name, "_"+t.Tool) && strings.Contains(offered.Name, "markmill")):
			return &call{offered, t.Args}
		}
	}
	return nil
}
