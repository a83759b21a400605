package cli

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every option of a command whose help has headings stands under one, and a heading names no option that no command
// has.
func TestOptionGroups(t *testing.T) {
	used := map[string]bool{}
	err := eachCommand(newApp().root(""), func(c *cobra.Command) error {
		groups := optionGroups(c)
		visible := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			visible++
			if groups != nil && !slices.ContainsFunc(groups,
				func(g group) bool { return slices.Contains(g.names, f.Name) }) {
				t.Errorf("%s: --%s stands under no heading: add it to the groups in help.go", c.CommandPath(), f.Name)
			}
		})
		if visible > 14 && groups == nil {
			t.Errorf("%s has %d options in one list: give it headings in help.go", c.CommandPath(), visible)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { used[f.Name] = true })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range slices.Concat(runGroups, stripGroups, reviewGroups) {
		for _, name := range g.names {
			if !used[name] {
				t.Errorf("heading %q names --%s, which no command has", g.title, name)
			}
		}
	}
}

// No help says of an option only that it is not another.
func TestHelpHasWords(t *testing.T) {
	err := eachCommand(newApp().root(""), func(c *cobra.Command) error {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasPrefix(f.Usage, "not --") {
				t.Errorf("%s --%s: %q", c.CommandPath(), f.Name, f.Usage)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every command that has --json names the schema that there is of it.
func TestJSONOptionsNameTheirSchema(t *testing.T) {
	known := jsonDocuments()
	err := eachCommand(newApp().root(""), func(c *cobra.Command) error {
		f := c.Flags().Lookup("json")
		if f == nil || c.CommandPath() == "markmill runs" {
			return nil
		}
		_, rest, named := strings.Cut(f.Usage, "docs/schemas/")
		name, _, _ := strings.Cut(rest, ".json")
		if _, there := known[name]; !named || !there {
			t.Errorf("%s --json: %q names no schema", c.CommandPath(), f.Usage)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVersionWords(t *testing.T) {
	b := buildOf(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision",
		Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}})
	if want := "(commit 0123456789ab of 2026-01-02T03:04:05Z, modified)"; !strings.Contains(b.words(), want) ||
		!b.Modified {
		t.Errorf("got %s, want %s", b.words(), want)
	}
	b.Modified = false
	if strings.Contains(b.words(), "modified") {
		t.Errorf("got %s", b.words())
	}
	if got := buildOf(nil).words(); !strings.Contains(got, "commit unknown") {
		t.Errorf("got %s", got)
	}
}

// docs/for-agents.md, which markmill agent guide prints, is short enough to be read whole.
func TestForAgents(t *testing.T) {
	if n := strings.Count(forAgents, "\n"); n > 40 {
		t.Errorf("it has %d lines", n)
	}
	for _, fact := range []string{"only with an id or a tag", "`.test`", "require", "exit 0 proves little",
		"expect-exit", ".no-change",
		"dirty_ending_tree", "not exported in bash", "glue --json", "--dirty include", "show last --log=STEP",
		"3 blocked"} {
		if !strings.Contains(forAgents, fact) {
			t.Errorf("it does not say: %s", fact)
		}
	}
}
