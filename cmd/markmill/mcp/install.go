package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/program"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs/outfile"
)

// client is a coding agent whose configuration names the servers that it starts.
type client struct {
	name, title string
	file        string // slash-separated, below the repository's top folder, or below the agent's own folder
	home        string // the variable that names the agent's own folder, if its file is there
	servers     string // the member of the file that holds the servers; "" where the file is TOML
	server      string // what the file has of ours
}

var clients = []client{
	{name: "claude", title: "Claude Code", file: ".mcp.json", servers: "mcpServers",
		server: `{"command": "markmill", "args": ["mcp", "serve"]}`},
	{name: "codex", title: "Codex", file: "config.toml", home: "CODEX_HOME", server: `[mcp_servers.markmill]
command = "markmill"
args = ["mcp", "serve"]
tool_timeout_sec = 3600
`},
	{name: "cursor", title: "Cursor", file: ".cursor/mcp.json", servers: "mcpServers",
		server: `{"command": "markmill", "args": ["mcp", "serve", "--repo", "${workspaceFolder}"]}`},
	{name: "gemini", title: "Gemini CLI", file: ".gemini/settings.json", servers: "mcpServers",
		server: `{"command": "markmill", "args": ["mcp", "serve"], "timeout": 3600000}`},
	{name: "opencode", title: "OpenCode", file: "opencode.json", servers: "mcp",
		server: `{"type": "local", "command": ["markmill", "mcp", "serve"], "enabled": true, "timeout": 3600000}`},
	{name: "vscode", title: "VS Code", file: ".vscode/mcp.json", servers: "servers",
		server: `{"type": "stdio", "command": "markmill", "args": ["mcp", "serve", "--repo", "${workspaceFolder}"]}`},
}

func mcpInstall(a *program.App) *cobra.Command {
	return clientCommand(a, true, &cobra.Command{
		Use: "install AGENT", Short: "Write the lines that make a coding agent start the server",
		Long: `Adds markmill mcp serve to an agent's configuration, and leaves the rest of the file as it is. AGENT is claude
(Claude Code: .mcp.json), codex ($CODEX_HOME/config.toml, else ~/.codex/config.toml), cursor (.cursor/mcp.json), gemini
(Gemini CLI: .gemini/settings.json), opencode (opencode.json) or vscode (VS Code: .vscode/mcp.json). All but that
of Codex are files of the repository, which everybody who uses it can share.

Exit codes: 0 written, or there already, 2 usage, or the file cannot be read.`,
		Example: "  markmill mcp install claude\n  markmill mcp install vscode --repo ~/src/project",
	})
}

func mcpUninstall(a *program.App) *cobra.Command {
	return clientCommand(a, false, &cobra.Command{
		Use: "uninstall AGENT", Short: "Remove the lines that install wrote",
		Long: `Removes markmill from an agent's configuration, and leaves the rest of the file as it is. AGENT is one of those of
markmill mcp install.

Exit codes: 0 removed, or not there, 2 usage, or the file cannot be read.`,
		Example: "  markmill mcp uninstall claude",
	})
}

func clientCommand(a *program.App, add bool, c *cobra.Command) *cobra.Command {
	var repo string
	c.Args = program.Args(1, 1)
	c.Flags().StringVar(&repo, "repo", ".", "`FOLDER` of the Git repository that is served, or one outside any")
	c.RunE = func(_ *cobra.Command, words []string) error {
		var names []string
		for _, agent := range clients {
			if agent.name == words[0] {
				return agent.configure(a, repo, add)
			}
			names = append(names, agent.name)
		}
		return program.Usagef("no agent is called %q; give one of %s; in another, name markmill mcp serve as a server "+
			"over standard input and output", words[0], strings.Join(names, ", "))
	}
	return c
}

func (c *client) configure(a *program.App, repo string, add bool) error {
	root, _, err := a.Served(repo)
	if err != nil {
		return err
	}
	if c.home != "" {
		root = a.UserDir(c.home, "."+c.name)
	} else if _, err := child.Root(root).Inside(c.file); err != nil { // a branch may hold a link to anywhere
		return program.Usagef("%w", err)
	}
	path := filepath.Join(root, filepath.FromSlash(c.file))
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return program.Troubled(err)
	}
	var text []byte
	if c.servers == "" {
		text = editTable(old, c.server, add)
	} else if text, err = editMember(old, []string{c.servers, "markmill"}, codec.Raw(c.server), add); err != nil {
		return c.misread(path, old, err)
	}
	switch {
	case bytes.Equal(text, old) && add:
		return program.Say(a.Stdout, "%s starts markmill mcp serve already, by %s\n", c.title, path)
	case bytes.Equal(text, old):
		return program.Say(a.Stdout, "%s does not name markmill\n", path)
	}
	if err := outfile.Setting(path, text); err != nil {
		return program.Troubled(err)
	}
	if add {
		return program.Say(a.Stdout, "%s starts markmill mcp serve from now on; the lines are in %s\n", c.title, path)
	}
	return program.Say(a.Stdout, "%s does not start markmill any longer; the lines are gone from %s\n", c.title, path)
}

func (c *client) misread(path string, text []byte, err error) error {
	var syntax *codec.SyntaxError
	if !errors.As(err, &syntax) {
		return program.Troubled(err)
	}
	line, col := notebooks.NewPlaces(text).Position(syntax.Offset)
	return &notebooks.Error{Kind: notebooks.KindInput, File: program.Name(path), Line: line, Col: col,
		Msg:  "expected " + syntax.Want + ", found " + syntax.Found,
		Hint: fmt.Sprintf(`mend it, or add to %q by hand: "markmill": %s`, c.servers, c.server)}
}

// ourTables are the tables of a TOML file that have our server, each to its last key.
var ourTables = regexp.MustCompile(`(?m)\n?^\[mcp_servers\.markmill(\..*)?\].*(\n+(#.*\n+)*[^\[\n#].*)*\n?`)

// editTable adds a table to a TOML file, or removes it.
func editTable(text []byte, lines string, add bool) []byte {
	switch {
	case !add:
		return ourTables.ReplaceAll(text, nil)
	case ourTables.Match(text):
		return text
	case len(text) > 0:
		lines = "\n" + lines
		if !bytes.HasSuffix(text, []byte("\n")) {
			lines = "\n" + lines
		}
	}
	return slices.Concat(text, []byte(lines))
}

type member struct {
	name  string
	start int
	value codec.Span
}

// editMember sets the member that path leads to in a JSON file, or removes it. Everything else stays byte for byte.
func editMember(text []byte, path []string, value codec.Raw, add bool) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		if !add {
			return text, nil
		}
		text = []byte("{}\n")
	}
	return editObject(text, 0, path, value, add)
}

func editObject(text []byte, at int, path []string, value codec.Raw, add bool) ([]byte, error) {
	var list []member
	c := codec.NewCursor(text, at)
	object, err := c.Object(func(name []byte, key codec.Span) error {
		value, err := c.Skip()
		list = append(list, member{string(name), key.Start, value})
		return err
	})
	if err == nil && at == 0 {
		err = c.End()
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(m member) bool { return m.name == path[0] })
	replace := func(start, end int, with []byte) []byte { return slices.Concat(text[:start], with, text[end:]) }
	switch {
	case i >= 0 && len(path) > 1:
		return editObject(text, list[i].value.Start, path[1:], value, add)
	case i >= 0 && add:
		if same(list[i].value.Of(text), value) {
			return text, nil
		}
		return replace(list[i].value.Start, list[i].value.End, value), nil
	case i >= 0 && i+1 < len(list):
		return replace(list[i].start, list[i+1].start, nil), nil
	case i > 0:
		return replace(list[i-1].value.End, list[i].value.End, nil), nil
	case i == 0:
		return replace(object.Start, object.End, []byte("{}")), nil
	case !add:
		return text, nil
	}
	for _, name := range slices.Backward(path[1:]) {
		value = wrapped(name, value)
	}
	if len(list) == 0 {
		whole, err := codec.IndentAs(wrapped(path[0], value), "", "  ")
		return replace(object.Start, object.End, whole), err
	}
	// The new member stands as the first one does: on a line of its own, or on the same line.
	space := text[object.Start+1 : list[0].start]
	if line := bytes.LastIndexByte(space, '\n'); line >= 0 {
		prefix, unit := string(space[line+1:]), "  "
		if strings.HasPrefix(prefix, "\t") {
			unit = "\t"
		}
		if value, err = codec.IndentAs(value, prefix, unit); err != nil {
			return nil, err
		}
	} else {
		space = []byte(" ")
	}
	end := list[len(list)-1].value.End
	return replace(end, end, slices.Concat([]byte(","), space, []byte(`"`+path[0]+`": `), value)), nil
}

func wrapped(name string, value codec.Raw) codec.Raw {
	return codec.Raw(`{"` + name + `": ` + string(value) + `}`)
}

// same reports whether two JSON values say the same, however they are written.
func same(a, b codec.Raw) bool {
	var x, y any
	return codec.Unmarshal(a, &x) == nil && codec.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
