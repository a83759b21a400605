package cmdtest

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/commands"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/man"
)

// Every option of a command whose help has headings stands under one, and a heading names no option that no command
// has.
func TestOptionGroups(t *testing.T) {
	used := map[string]bool{}
	err := man.EachCommand(commands.Root(program.New(), ""), func(c *cobra.Command) error {
		groups := help.OptionGroups(c)
		visible := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			visible++
			if groups != nil && !slices.ContainsFunc(groups,
				func(g help.Group) bool { return slices.Contains(g.Names, f.Name) }) {
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
	for _, g := range slices.Concat(help.RunGroups, help.StripGroups, help.ReviewGroups) {
		for _, name := range g.Names {
			if !used[name] {
				t.Errorf("heading %q names --%s, which no command has", g.Title, name)
			}
		}
	}
}

// No help says of an option only that it is not another.
func TestHelpHasWords(t *testing.T) {
	err := man.EachCommand(commands.Root(program.New(), ""), func(c *cobra.Command) error {
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
	err := man.EachCommand(commands.Root(program.New(), ""), func(c *cobra.Command) error {
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
	b := program.BuildOf(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision",
		Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}})
	if want := "(commit 0123456789ab of 2026-01-02T03:04:05Z, modified)"; !strings.Contains(b.Words(), want) ||
		!b.Modified {
		t.Errorf("got %s, want %s", b.Words(), want)
	}
	b.Modified = false
	if strings.Contains(b.Words(), "modified") {
		t.Errorf("got %s", b.Words())
	}
	if got := program.BuildOf(nil).Words(); !strings.Contains(got, "commit unknown") {
		t.Errorf("got %s", got)
	}
}

// docs/for-agents.md, which markmill agent guide prints, is short enough to be read whole.
func TestForAgents(t *testing.T) {
	if n := strings.Count(help.ForAgents, "\n"); n > 40 {
		t.Errorf("it has %d lines", n)
	}
	for _, fact := range []string{"only with an id or a tag", "`.test`", "require", "exit 0 proves little",
		"expect-exit", ".no-change",
		"dirty_ending_tree", "not exported in bash", "glue --json", "--dirty include", "show last --log=STEP",
		"3 blocked"} {
		if !strings.Contains(help.ForAgents, fact) {
			t.Errorf("it does not say: %s", fact)
		}
	}
}
