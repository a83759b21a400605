package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/cmd/api/retest"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/compare"
	"markmill/runs/outfile"
)

// testOptions are the options of test.
type testOptions struct {
	retest.Options
	workOptions
	sanitize, junit string
	annotate, json  bool
	annotateIsSet   bool
	outdated        bool
	dirtyIsSet      bool
	stdinParams     bool
}

func (a *app) testCommand() *cobra.Command {
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
			return args(1, -1)(c, paths)
		},
		RunE: func(c *cobra.Command, paths []string) error {
			o.dirtyIsSet = c.Flags().Changed("dirty")
			o.annotateIsSet = c.Flags().Lookup("annotate").Changed
			return a.test(c.Context(), paths, o)
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
	jsonFlag(c, &o.json, "test")
	f.IntVarP(&o.Jobs, "jobs", "j", 1, "how many notebooks run at once")
	a.paramFlags(f, &req.Given, &o.stdinParams)
	o.workOptions.flags(f, req)
	return c
}

func (a *app) test(ctx context.Context, paths []string, o *testOptions) error {
	var found []files.File
	var err error
	if o.outdated { // before the options are checked, because it chooses what --dirty is
		if found, err = a.testOutdated(ctx, paths, o); err != nil {
			return err
		}
	}
	if err := a.checkTest(o); err != nil {
		return err
	}
	if slices.Contains(paths, "-") {
		return usagef("test takes files and folders; standard input has no stored output")
	}
	if !o.outdated {
		if found, err = files.Find(paths); err != nil {
			return usage{err}
		}
	}
	o.Engine = func(notebook string) (*engine.Engine, *worktree.Source, error) { return a.engineFor(notebook, o.repo) }
	o.Warn = func(message string) { fmt.Fprintln(a.stderr, "markmill: "+message) }
	o.Now = a.now
	junit, err := a.openOutput("--junit", o.junit)
	if err != nil {
		return err
	}
	defer junit.Close()
	ctx, stop := a.interruptible(ctx)
	defer stop()
	report := retest.Run(ctx, found, o.Options)
	if err := a.printTest(report, o, junit); err != nil {
		return err
	}
	if o.outdated && len(found) == 0 {
		a.tell("markmill: everything is current: nothing to test\n")
		return nil
	}
	if report.Compared() == 0 {
		return usagef("%s: no notebook there has a stored output, so nothing was compared", strings.Join(paths, ", "))
	}
	return testExit(report)
}

// checkTest checks the options, and reads the file of rules.
func (a *app) checkTest(o *testOptions) error {
	var err error
	req := &o.Request
	if err = o.settle(req); err != nil {
		return err
	}
	switch {
	case req.Cwd != "" && !filepath.IsLocal(req.Cwd):
		return usagef("--cwd %s is outside the worktree; give a folder relative to its root", req.Cwd)
	case o.json && o.junit == "-":
		return usagef("--json and --junit - both want standard output; leave one of them out, or give it a path")
	case o.Jobs < 1:
		return usagef("-j %d runs nothing; give how many notebooks may run at once", o.Jobs)
	}
	if !o.annotateIsSet {
		o.annotate = a.onGitHub()
	}
	if o.sanitize == "" {
		return nil
	}
	text, err := a.readInput(o.sanitize, "a file of rules", maxParams)
	if err != nil {
		return usagef("--sanitize-with: %w", files.ReadError(name(o.sanitize), err))
	}
	o.Rules, err = compare.Sanitize(name(o.sanitize), text)
	return err
}

// printTest prints the report for people or as JSON, the annotations, and JUnit's XML.
func (a *app) printTest(report *retest.Report, o *testOptions, junit *outfile.File) error {
	text, annotations := "", ""
	if o.annotate {
		annotations = report.Annotations(a.env("GITHUB_WORKSPACE"))
	}
	var to io.Writer = a.stdout
	if o.json {
		if err := a.printJSON("test", report); err != nil {
			return err
		}
		to = a.stderr
	} else {
		text = report.Text(a.colour(a.stdout))
		if o.annotate {
			text = withoutCommands(a.random, text)
		}
		if o.junit == "-" {
			to = a.stderr
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
	return a.writeOpened(junit, o.junit, xml)
}

// testExit is the exit code of a report.
func testExit(report *retest.Report) error {
	code, signal := exitPass, 0
	for _, n := range report.Notebooks {
		signal = max(signal, n.Signal())
		if n.Err() != nil {
			code = max(code, min(exitOf(n.Err()), exitUsage))
		}
	}
	switch status := report.Status; {
	case signal > 0:
		return exit(128 + signal)
	case status == retest.Interrupted:
		return exit(128 + int(syscall.SIGINT))
	case code != exitPass:
		return exit(code)
	case status == retest.Blocked:
		return exit(exitBlocked)
	case status == retest.Missing || status == retest.Different || status == retest.Failed:
		return exit(exitFail)
	}
	return nil
}
