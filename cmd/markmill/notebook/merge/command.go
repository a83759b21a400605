package merge

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/git"
	"markmill/notebooks/forms"
	"markmill/notebooks/merge"
	"markmill/runs/outfile"
)

// mergeOptions are the options of markmill notebook merge.
type mergeOptions struct {
	output              string
	driver              bool
	diff3, zdiff3       bool
	ours, theirs, union bool
	size                int
	base, mine, yours   string // labels
	path                string // of the notebook, for messages and its form
}

func Command(a *program.App) *cobra.Command {
	var opt mergeOptions
	c := &cobra.Command{
		Use: "merge BASE OURS THEIRS", Short: "Merge two changed notebooks by step; Git's merge driver",
		Long: `Merges what OURS and THEIRS changed since BASE, by step, and prints the result. All three are Markdown (.md,
.qmd, .Rmd; sources or output notebooks) or all are Jupyter notebooks (.ipynb).

Added, moved and edited steps are merged, each line by line; so is the prose between them. Conflicts get
Git's markers, inside the step that they are in. Outputs never conflict: a step has those of the side whose
text it has, or none.

markmill git install makes it Git's merge driver: with --driver the arguments are %O %A %B %L %P %S %X %Y of
Git, and the result is written to OURS. What cannot be merged by step is merged by line.

Exit codes: 0 merged, 1 there are conflicts, 2 one of the three cannot be merged (nothing was written).`,
		Example: "  markmill notebook merge base.md ours.md theirs.md -o merged.md\n" +
			"  markmill notebook merge --zdiff3 base.ipynb ours.ipynb theirs.ipynb > merged.ipynb\n" +
			"  git config merge.markmill.driver 'markmill notebook merge --driver %O %A %B %L %P %S %X %Y'",
		RunE: func(_ *cobra.Command, words []string) error { return run(a, opt, words) },
	}
	f := c.Flags()
	f.StringVarP(&opt.output, "output", "o", "", "write to this file, not to standard output")
	f.BoolVar(&opt.driver, "driver", false, "be Git's merge driver: BASE OURS THEIRS SIZE PATH [LABELS]")
	f.BoolVar(&opt.diff3, "diff3", false, "also show the base in conflicts")
	f.BoolVar(&opt.zdiff3, "zdiff3", false, "as --diff3, without the lines that both sides begin and end with")
	f.BoolVar(&opt.ours, "ours", false, "resolve conflicts with ours")
	f.BoolVar(&opt.theirs, "theirs", false, "resolve conflicts with theirs")
	f.BoolVar(&opt.union, "union", false, "resolve conflicts with both, ours first")
	f.IntVar(&opt.size, "marker-size", 7, "length of the conflict markers")
	return c
}

func run(a *program.App, opt mergeOptions, words []string) error {
	if err := opt.settle(words); err != nil {
		return err
	}
	how, err := opt.how()
	if err != nil {
		return err
	}
	var in [3][]byte
	for i := range in {
		if in[i], err = a.ReadBytes(words[i], files.MaxJupyter); err != nil {
			return program.AsTrouble(err)
		}
		if bytes.IndexByte(in[i], 0) >= 0 {
			return program.AsTrouble(program.BadInput(words[i], "contains a NUL byte, so it is no text and cannot be "+
				"merged"))
		}
	}
	how.Jupyter = program.JupyterName(how.Name) || forms.IsJupyter("-", in[1])
	got := mergeThree(in, how)
	if len(got.Conflicts) > 0 && opt.driver {
		if style := gitConflictStyle(); style != how.Style {
			how.Style = style
			got = mergeThree(in, how)
		}
	}
	if opt.driver {
		err = outfile.Setting(words[1], got.Bytes) // Git names it
	} else {
		err = a.WriteResult("--output", opt.output, got.Bytes)
	}
	if err != nil {
		return program.AsTrouble(err)
	}
	for _, n := range got.Notes {
		a.Tell("markmill: %s: %s\n", how.Name, n)
	}
	for _, c := range got.Conflicts {
		a.Tell("markmill: %s: conflict in %s\n", how.Name, c)
	}
	return program.PassIf(len(got.Conflicts) == 0)
}

// mergeThree merges by step, or by line where that is not possible.
func mergeThree(in [3][]byte, how merge.Options) *merge.Result {
	got, err := merge.Notebooks(in[0], in[1], in[2], how)
	if err == nil {
		return got
	}
	got = merge.Lines(in[0], in[1], in[2], how)
	first, _, _ := strings.Cut(err.Error(), "\n")
	got.Notes = append(got.Notes, "it is merged by line: "+first)
	return got
}

// settle reads the arguments: three files, and what Git adds.
func (o *mergeOptions) settle(words []string) error {
	if !o.driver {
		if len(words) != 3 {
			return program.Usagef("markmill notebook merge takes BASE OURS THEIRS, and got %d: %s; see markmill "+
				"notebook merge --help",
				len(words), strings.Join(words, " "))
		}
		for _, w := range words {
			if w == "-" {
				return program.Usagef("markmill notebook merge reads files, not standard input")
			}
		}
		o.path, o.base, o.mine, o.yours = words[1], words[0], words[1], words[2]
		return nil
	}
	if len(words) < 5 || len(words) > 8 || o.output != "" {
		return program.Usagef("markmill notebook merge --driver takes BASE OURS THEIRS SIZE PATH [LABELS] and no "+
			"--output, and got %d words: %s", len(words), strings.Join(words, " "))
	}
	var err error
	if o.size, err = strconv.Atoi(words[3]); err != nil {
		return program.Usagef("%q is no length of a marker, which Git gives for %%L", words[3])
	}
	o.path = words[4]
	for i, into := range []*string{&o.base, &o.mine, &o.yours} {
		// Git before 2.44 knows no %S, %X and %Y, and leaves them.
		if 5+i < len(words) && !strings.HasPrefix(words[5+i], "%") {
			*into = words[5+i]
		}
	}
	return nil
}

func (o *mergeOptions) how() (merge.Options, error) {
	how := merge.Options{Name: filepath.ToSlash(o.path), MarkerSize: o.size, Base: o.base, Ours: o.mine,
		Theirs: o.yours}
	if o.size < 1 || o.size > 1000 {
		return how, program.Usagef("--marker-size %d: a marker has 1 to 1000 characters", o.size)
	}
	given := 0
	for _, f := range []struct {
		on    bool
		favor merge.Favor
	}{{o.ours, merge.Ours}, {o.theirs, merge.Theirs}, {o.union, merge.Together}} {
		if f.on {
			how.Favor = f.favor
			given++
		}
	}
	if given > 1 || o.diff3 && o.zdiff3 {
		return how, program.Usagef("--ours, --theirs and --union exclude each other, and so do --diff3 and --zdiff3")
	}
	switch {
	case o.diff3:
		how.Style = merge.Diff3
	case o.zdiff3:
		how.Style = merge.ZDiff3
	}
	return how, nil
}

// gitConflictStyle is merge.conflictStyle of Git's configuration.
func gitConflictStyle() merge.Style {
	style, err := git.Git("config", "--get", "merge.conflictStyle")
	if err != nil { // it is not set
		return merge.Plain
	}
	switch strings.TrimSpace(style) {
	case "diff3":
		return merge.Diff3
	case "zdiff3":
		return merge.ZDiff3
	}
	return merge.Plain
}
