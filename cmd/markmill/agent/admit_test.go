package agent

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"markmill/engine"
)

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestEdit: an admission is added or renewed, and every other byte of the file stays.
func TestEdit(t *testing.T) {
	fields := []Field{{"path", "/bin/codex"}, {"sha256", Text(digest)}, {"version", Text("0.169.0")}}
	added := "  codex:\n    path: /bin/codex\n    sha256: " + Text(digest) + "\n    version: 0.169.0\n"
	for name, c := range map[string]struct{ old, want string }{
		"no file":        {"", "agents:\n" + added},
		"no end of line": {"pool: off", "pool: off\nagents:\n" + added},
		"other agents": {"# mine\nagents:\n  claude: # c\n    path: /c\n\n# rest\npool: off\n",
			"# mine\nagents:\n  claude: # c\n    path: /c\n" + added + "\n# rest\npool: off\n"},
		"empty": {"agents:\npool: off\n", "agents:\n" + added + "pool: off\n"},
		"renewed": {"agents:\n    codex: # why\n        sha256: 'old' # at first\n        model: m\n" +
			"        path: \"/a b\"\n", "agents:\n    codex: # why\n        version: 0.169.0\n        sha256: " +
			Text(digest) + " # at first\n        model: m\n        path: /bin/codex\n"},
		"windows": {"pool: off\r\n", "pool: off\r\nagents:\r\n" + strings.ReplaceAll(added, "\n", "\r\n")},
	} {
		got, err := edit("markmill.yaml", []byte(c.old), "codex", fields)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
		if again, err := edit("markmill.yaml", got, "codex", fields); err != nil || string(again) != c.want {
			t.Errorf("%s, again: %v\n%s\nwant\n%s", name, err, again, c.want)
		}
	}
	for _, old := range []string{"agents: {}\n", "agents: {codex: {path: /x}}\n", "agents: [a]\n",
		"agents:\n  codex: {path: /x}\n", "agents:\n  codex:\n    path: |\n      /x\n"} {
		if got, err := edit("markmill.yaml", []byte(old), "codex", fields); err == nil {
			t.Errorf("%q becomes %q", old, got)
		}
	}
	if _, err := engine.ParseConfig("markmill.yaml", []byte("agents:\n"+added)); err != nil {
		t.Error(err)
	}
}

// TestText: whatever a value is, YAML reads it as the same text.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.OneOf(rapid.String(), rapid.StringMatching(`[~0-9a-z:#'"/. -]{0,12}`),
			rapid.SampledFrom([]string{"A\u2028A", "A\u0085A", "on", "null", "1e3", "0x1f", "2026-01-01", "~",
				""})).Draw(t, "text")
		var got any
		if err := yaml.Unmarshal([]byte("k: "+Text(want)+"\n"), &got); err != nil {
			t.Fatal(want, err)
		}
		if m, ok := got.(map[string]any); !ok || m["k"] != any(want) {
			t.Fatalf("%q is read as %#v", want, got)
		}
	})
}
