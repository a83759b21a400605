package test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/outdated"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/retest"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/compare"
	"markmill/runs/outfile"
)

// testOptions are the options of test.
type testOptions struct {
	retest.Options
	launch.WorkOptions
	sanitize, junit string
	annotate, json  bool
	annotateIsSet   bool
	outdated        bool
	dirtyIsSet      bool
	stdinParams     bool
}

func Command(a *program.App) *cobra.Command {
	o := &testOptions{}
	c := &cobra.Command{
		Use: "test PATH…", Short: "Run notebooks again and compare with the stored outputs",
		Long: `Runs notebooks again with the parameters of the stored output, and shows as a diff what each step left that
differs. PATH is an output notebook, a Jupyter notebook that was saved with outputs, a notebook with its
output beside it (as NAME.out.md, or where output: in markmill.yaml says), a folder of them, or a pattern.
What varies from run to run is masked on both sides by the notebook's normalize rules and those of
markmill.yaml.

With --outdated only outputs that are not current (see markmill status) are tested, below PATH or in the whole
repository; uncommitted changes count, and are taken along, unless --dirty or --base says otherwise.

Exit codes: 0 the same, 1 different, or a run did not pass, 2 a notebook cannot be read, or nothing was
compared, 3 blocked, 128+n ended by signal n.`,
		Example: "  markmill test reports/health.out.md\n" +
			"  markmill test notebooks -j 4 --junit results.xml\n  markmill test --update notebooks/*.md\n" +
			"  markmill test --outdated",
		Args: func(c *cobra.Command, paths []string) error {
			if o.outdated {
				return nil
			}
			return program.Args(1, -1)(c, paths)
		},
		RunE: func(c *cobra.Command, paths []string) error {
			o.dirtyIsSet = c.Flags().Changed("dirty")
			o.annotateIsSet = c.Flags().Lookup("annotate").Changed
			return test(c.Context(), a, paths, o)
		},
	}
	f := c.Flags()
	req := &o.Request
	f.BoolVar(&o.Marked, "marked", false,
		"compare only marked steps: tag check-output, or # NBVAL_CHECK_OUTPUT; the others must run")
	f.BoolVar(&o.Update, "update", false, "replace stored outputs that differ, where the run passed")
	f.BoolVar(&o.outdated, "outdated", false, "test only outputs that are not current")
	f.StringVar(&o.sanitize, "sanitize-with", "", "also mask with the expressions of an nbval file")
	f.StringVar(&o.sanitize, "nbval-sanitize-with", "", "as --sanitize-with")
	f.Lookup("nbval-sanitize-with").Hidden = true
	f.StringVar(&o.junit, "junit", "", "write the results to a file as JUnit XML")
	f.BoolVar(&o.annotate, "annotate", false,
		"print annotations for GitHub Actions (default: if GITHUB_ACTIONS is true)")
	program.JSONFlag(c, &o.json, "test")
	f.IntVarP(&o.Jobs, "jobs", "j", 1, "how many notebooks run at once")
	a.ParamFlags(f, &req.Given, &o.stdinParams)
	o.WorkOptions.Flags(f, req)
	return c
}

func test(ctx context.Context, a *program.App, paths []string, o *testOptions) error {
	var found []files.File
	var err error
	if o.outdated { // before the options are checked, because it chooses what --dirty is
		if found, err = testOutdated(ctx, a, paths, o); err != nil {
			return err
		}
	}
	if err := checkTest(a, o); err != nil {
		return err
	}
	if slices.Contains(paths, "-") {
		return program.Usagef("test takes files and folders; standard input has no stored output")
	}
	if !o.outdated {
		if found, err = files.Find(paths); err != nil {
			return program.AsUsage(err)
		}
	}
	o.Engine = func(notebook string) (*engine.Engine, *worktree.Source, error) { return a.EngineFor(notebook, o.Repo) }
	o.Warn = func(message string) { fmt.Fprintln(a.Stderr, "markmill: "+message) }
	o.Now = a.Now
	junit, err := a.OpenOutput("--junit", o.junit)
	if err != nil {
		return err
	}
	defer junit.Close()
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	report := retest.Run(ctx, found, o.Options)
	if err := printTest(a, report, o, junit); err != nil {
		return err
	}
	if o.outdated && len(found) == 0 {
		a.Tell("markmill: everything is current: nothing to test\n")
		return nil
	}
	if report.Compared() == 0 {
		return program.Usagef("%s: no notebook there has a stored output, so nothing was compared",
			strings.Join(paths, ", "))
	}
	return testExit(report)
}

// checkTest checks the options, and reads the file of rules.
func checkTest(a *program.App, o *testOptions) error {
	var err error
	req := &o.Request
	if err = o.Settle(req); err != nil {
		return err
	}
	switch {
	case req.Cwd != "" && !filepath.IsLocal(req.Cwd):
		return program.Usagef("--cwd %s is outside the worktree; give a folder relative to its root", req.Cwd)
	case o.json && o.junit == "-":
		return program.Usagef(
			"--json and --junit - both want standard output; leave one of them out, or give it a path")
	case o.Jobs < 1:
		return program.Usagef("-j %d runs nothing; give how many notebooks may run at once", o.Jobs)
	}
	if !o.annotateIsSet {
		o.annotate = a.OnGitHub()
	}
	if o.sanitize == "" {
		return nil
	}
	text, err := a.ReadInput(o.sanitize, "a file of rules", program.MaxParams)
	if err != nil {
		return program.Usagef("--sanitize-with: %w", files.ReadError(program.Name(o.sanitize), err))
	}
	o.Rules, err = compare.Sanitize(program.Name(o.sanitize), text)
	return err
}

// printTest prints the report for people or as JSON, the annotations, and JUnit's XML.
func printTest(a *program.App, report *retest.Report, o *testOptions, junit *outfile.File) error {
	text, annotations := "", ""
	if o.annotate {
		annotations = report.Annotations(a.Env("GITHUB_WORKSPACE"))
	}
	var to io.Writer = a.Stdout
	if o.json {
		if err := a.PrintJSON("test", report); err != nil {
			return err
		}
		to = a.Stderr
	} else {
		text = report.Text(a.Colour(a.Stdout))
		if o.annotate {
			text = program.WithoutCommands(a.Random, text)
		}
		if o.junit == "-" {
			to = a.Stderr
		}
	}
	if _, err := io.WriteString(to, text+annotations); err != nil {
		return err
	}
	if o.junit == "" {
		return nil
	}
	xml, err := report.JUnit()
	if err != nil {
		return err
	}
	return a.WriteOpened(junit, o.junit, xml)
}

// testExit is the exit code of a report.
func testExit(report *retest.Report) error {
	code, signal := program.ExitPass, 0
	for _, n := range report.Notebooks {
		signal = max(signal, n.Signal())
		if n.Err() != nil {
			code = max(code, min(program.ExitOf(n.Err()), program.ExitUsage))
		}
	}
	switch status := report.Status; {
	case signal > 0:
		return program.Exit(128 + signal)
	case status == retest.Interrupted:
		return program.Exit(128 + int(syscall.SIGINT))
	case code != program.ExitPass:
		return program.Exit(code)
	case status == retest.Blocked:
		return program.Exit(program.ExitBlocked)
	case status == retest.Missing || status == retest.Different || status == retest.Failed:
		return program.Exit(program.ExitFail)
	}
	return nil
}

// testOutdated lists the outputs that test --outdated runs again.
func testOutdated(ctx context.Context, a *program.App, paths []string, o *testOptions) ([]files.File, error) {
	list, _, err := outdated.OutdatedOf(ctx, a, paths, &o.WorkOptions, &o.Request, o.dirtyIsSet)
	if err != nil {
		return nil, err
	}
	var found []files.File
	for _, out := range list {
		if _, err := os.Stat(out.Path); err == nil {
			found = append(found, files.File{Path: out.Path, Named: true})
		}
	}
	return found, nil
}
