package cmdtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// papermillOptions are the names of the options in papermill's help, as recorded.
func papermillOptions(t *testing.T) []string {
	t.Helper()
	return lines(t, "testdata/papermill-options.txt")
}

// Every option of papermill's command line has a row in docs/papermill.md, and a section of a script in which it is
// given to the program and what it does is looked at.
func TestPapermillOptions(t *testing.T) {
	text, err := os.ReadFile("../markmill/run/testdata/papermill_options.txtar")
	if err != nil {
		t.Fatal(err)
	}
	script, _, _ := strings.Cut(string(text), "\n-- ")
	sections := map[string]string{}
	for _, section := range strings.Split(script, "\n# ")[1:] {
		names, body, _ := strings.Cut(section, "\n")
		for _, name := range strings.Fields(names) {
			sections[name] = body
		}
	}
	rows := readDoc(t, "papermill.md").section(t, "Options")
	names := papermillOptions(t)
	if len(names) < 40 || !slices.Contains(names, "--report-mode") {
		t.Fatalf("the recorded list is not whole: %v", names)
	}
	for _, name := range names {
		if !rows.hasRow(name) {
			t.Errorf("docs/papermill.md has no row of `%s`", name)
		}
		used := regexp.MustCompile(`(?m)^(\[all\] )?(! )?exec (sh -c '.*)?markmill .*(^| )` + regexp.QuoteMeta(name) +
			`( |=|$).*\n(\[all\] )?(! )?(stdout|stderr|grep|exists|cmp|cp|exec)\b`)
		if !used.MatchString(sections[name]) {
			t.Errorf("no section of papermill_options.txtar gives %s to markmill and looks at what it does", name)
		}
	}
}

// The recorded list is that of papermill itself.
func (p peers) papermillHelp(t *testing.T) {
	_, help, _ := strings.Cut(string(command(t, "", p.python, "-m", "papermill", "--help")), "Options:")
	var got []string
	for _, line := range regexp.MustCompile(`(?m)^  (-\S.*?)(?:  .*)?$`).FindAllStringSubmatch(help, -1) {
		got = append(got, regexp.MustCompile(`--?[a-z][\w-]*`).FindAllString(line[1], -1)...)
	}
	if want := papermillOptions(t); !slices.Equal(got, want) {
		t.Errorf("papermill --help has\n%v\nand testdata/papermill-options.txt\n%v", got, want)
	}
}
