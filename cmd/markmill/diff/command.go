package diff

import (
	"cmp"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/lookup"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/diff/nbdime"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/html"
	"markmill/render/review"
	"markmill/render/terminal"
)

// DiffOptions are the options of markmill diff.
type DiffOptions struct {
	All, git       bool
	markdown, json bool
	html           bool
	format         string
	Tolerance      []string
	most           int // bytes; 0 limits only Markdown, to a comment
	values         bool
	lower, higher  []string
}

func Command(a *program.App) *cobra.Command {
	var opt DiffOptions
	c := &cobra.Command{
		Use: "diff A B", Short: "Compare notebooks, outputs, runs, revisions and folders; the values of several runs",
		Long: `Compares two notebooks and shows what a reviewer wants to know, in this order: the status, the tests, the
parameters, the steps (added, removed, moved, renamed, edited, replaced, split, joined), the scraps, what the
steps changed in the worktree, the outputs.

A and B are files (.md, .qmd, .Rmd, .ipynb; source or output), - for standard input, runs (an id, a part of
one, last, or a run directory), or REV:PATH for a path of a Git revision. Two folders (also REV:FOLDER) are
compared notebook by notebook, by their paths, and so are two revisions: main fix. With --git: one revision, whose path
is compared with the file, or two.

Execution counts, times, generated ids, volatile metadata and addresses of objects are ignored, unless --all
is given.

Several runs, a sweep, or two with --values, are one table of values: the parameters that differ, scraps, tests, the
size of the change, and the time. They are what markmill notebook scraps takes (ids of runs, last, sweeps, output
notebooks, folders, REV:PATH), and archives of runs. In each column of numbers the best value has ★ and the worst ▾.
More passed tests, fewer failed ones and less time are better. Of a scrap the name says it where it is usual: loss,
error, rmse, latency and the like are better when lower, accuracy, score, auc, throughput and the like when higher.
--lower and --higher say it of others; without, ↓ is the lowest value and ↑ the highest, as for the size of a change. A
run that did not pass is never the best, and its time does not count.

Exit codes: 0 the same, or a table of values; 1 different; 2 one of them cannot be read.`,
		Example: "  markmill diff task.md new.md\n  markmill diff last task.out.md\n" +
			"  markmill diff HEAD~1:report.md report.md\n" +
			"  markmill diff HEAD:results results\n  markmill diff main fix\n" +
			"  markmill diff --git main HEAD -- notebooks/report.ipynb\n" +
			"  markmill diff --markdown --tolerance 1% --tolerance loss=0.5 old.out.md new.out.md\n" +
			"  markmill diff last-sweep --lower cost\n  markmill diff --values out/*.md --html > compared.html",
		RunE: func(c *cobra.Command, words []string) error {
			if several, err := several(a, opt, words, c.ArgsLenAtDash()); err != nil || several {
				return program.Troubled(cmp.Or(err, compareRuns(a, c, opt, words)))
			}
			for _, name := range []string{"lower", "higher"} {
				if c.Flags().Changed(name) {
					return program.Usagef("--%s is for --values", name)
				}
			}
			return program.Troubled(run(a, opt, words, c.ArgsLenAtDash()))
		},
	}
	f := c.Flags()
	f.BoolVar(&opt.All, "all", false, "compare noise as well")
	f.BoolVar(&opt.git, "git", false, "the arguments are REV [REV] -- PATH")
	f.BoolVar(&opt.markdown, "markdown", false, "print Markdown for a pull request comment, at most 65,536 characters")
	f.BoolVar(&opt.html, "html", false, "print one HTML page, side by side, that loads nothing")
	f.BoolVar(&opt.json, "json", false, "print one JSON object (docs/schemas/diff.json; of values runs-compare.json)")
	f.IntVar(&opt.most, "max-bytes", 0, "limit of the text or the Markdown, in bytes; what matters most comes first")
	f.StringVar(&opt.format, "format", "",
		"nbdime: print nbdime's diff of two Jupyter notebooks; csv: the table of values as CSV")
	f.BoolVar(&opt.values, "values", false, "compare the values of two runs, too, as a table")
	f.StringArrayVar(&opt.lower, "lower", nil, "with --values: lower values of this scrap are better; repeatable")
	f.StringArrayVar(&opt.higher, "higher", nil, "with --values: higher values of this scrap are better; repeatable")
	f.StringArrayVar(&opt.Tolerance, "tolerance", nil,
		"how far a scrap's number may move: 0.01 or 1%, NAME=1% of one scrap; repeatable")
	return c
}

func run(a *program.App, opt DiffOptions, words []string, dash int) error {
	forms := 0
	for _, on := range []bool{opt.markdown, opt.html, opt.json, opt.format != ""} {
		if on {
			forms++
		}
	}
	switch {
	case forms > 1:
		return program.Usagef("--markdown, --html, --json and --format exclude each other")
	case opt.most != 0 && opt.most < review.LeastLimit:
		return program.Usagef("--max-bytes %d is too small; the minimum is %d", opt.most, review.LeastLimit)
	case opt.most != 0 && (opt.json || opt.html || opt.format != ""):
		return program.Usagef("--max-bytes limits text and Markdown only")
	case opt.format != "" && opt.format != "nbdime":
		return program.Usagef("--format %s is not known; there is nbdime", opt.format)
	}
	how, err := CompareOptions(opt)
	if err != nil {
		return err
	}
	if opt.git {
		if words, err = gitWords(words, dash); err != nil {
			return err
		}
	}
	if len(words) != 2 {
		return program.Usagef("markmill diff takes A B, and got %d: %s; see markmill diff --help",
			len(words), strings.Join(words, " "))
	}
	if words[0] == "-" && words[1] == "-" {
		return program.Usagef("standard input can be one of the two")
	}
	folders, sides, err := read(a, words)
	switch {
	case err != nil:
		return err
	case folders != nil:
		return diffFolders(a, opt, how, folders)
	}
	return showDiff(a, opt, how, sides)
}

// read reads the two that words name: folders, or else notebooks or runs.
func read(a *program.App, words []string) (list []*lookup.Folder, sides [2]lookup.Side, err error) {
	words = a.Lookup().Revisions(words)
	if list, err = folders(a, words); err != nil || list != nil {
		return list, sides, err
	}
	for i, word := range words {
		if sides[i], err = a.Lookup().Side(word); err != nil {
			return nil, sides, err
		}
	}
	return nil, sides, nil
}

// Document is what diff --json prints of two words, without options.
func Document(a *program.App, words []string) ([]byte, error) {
	list, sides, err := read(a, words)
	if err != nil {
		return nil, err
	}
	if list != nil {
		d, err := lookup.CompareFolders(list[0], list[1], diff.Options{})
		if err != nil {
			return nil, err
		}
		return codec.Indent(d)
	}
	text, err := diffview.JSON(diff.Compare(sides[0].Doc, sides[1].Doc, diff.Options{}))
	if err != nil {
		return nil, err
	}
	return views.Document("diff", text)
}

// gitWords makes REV:PATH of REV [REV] -- PATH.
func gitWords(words []string, dash int) ([]string, error) {
	if dash < 1 || dash > 2 || len(words) != dash+1 {
		return nil, program.Usagef("--git takes REV [REV] -- PATH, and got %s; see markmill diff --help",
			strings.Join(words, " "))
	}
	path := words[dash]
	if filepath.IsAbs(path) {
		return nil, program.Usagef("--git: the path is absolute; give it relative to the working directory")
	}
	rel := "./" + filepath.ToSlash(path)
	if dash == 1 {
		return []string{words[0] + ":" + rel, path}, nil
	}
	return []string{words[0] + ":" + rel, words[1] + ":" + rel}, nil
}

// CompareOptions reads the tolerances.
func CompareOptions(opt DiffOptions) (diff.Options, error) {
	how := diff.Options{All: opt.All, Tolerances: map[string]float64{}}
	for _, word := range opt.Tolerance {
		name, text, named := strings.Cut(word, "=")
		if !named {
			name, text = "", word
		}
		number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0) {
			return how, program.Usagef("--tolerance %s: expected a number that is not negative, such as 0.01, 1%% or "+
				"loss=1%%",
				word)
		}
		if percent {
			n /= 100
		}
		if named {
			how.Tolerances[name] = n
		} else {
			how.Tolerance = n
		}
	}
	return how, nil
}

// folders reads two words that both name folders; nil where one does not.
func folders(a *program.App, words []string) ([]*lookup.Folder, error) {
	var out []*lookup.Folder
	for _, word := range words {
		f, ok, err := a.Lookup().Folder(word)
		if err != nil || !ok {
			return nil, err
		}
		out = append(out, f)
	}
	for i, f := range out {
		if len(f.Paths) == 0 {
			return nil, program.BadInput(words[i], "is a folder, and holds no notebook")
		}
	}
	return out, nil
}

// diffFolders compares two folders, notebook by notebook.
func diffFolders(a *program.App, opt DiffOptions, how diff.Options, folders []*lookup.Folder) error {
	if opt.html || opt.format != "" {
		return program.Usagef("--html and --format compare two notebooks; markmill review --html FILE makes a page " +
			"of all notebooks of a branch")
	}
	d, err := lookup.CompareFolders(folders[0], folders[1], how)
	if err != nil {
		return err
	}
	switch {
	case opt.json:
		var text []byte
		if text, err = codec.Indent(d); err == nil {
			err = a.ShownText(text)
		}
	case opt.markdown:
		err = a.ShownText(d.Markdown(opt.limit()))
	default:
		to := &program.BoundedWriter{To: a.Stdout, Most: opt.most}
		err = errors.Join(d.Write(to, a.Colour(a.Stdout)), to.End())
	}
	if err != nil {
		return err
	}
	return program.PassIf(d.Same)
}

func showDiff(a *program.App, opt DiffOptions, how diff.Options, sides [2]lookup.Side) error {
	if opt.format == "nbdime" {
		return showNbdime(a, sides)
	}
	d := diff.Compare(sides[0].Doc, sides[1].Doc, how)
	var err error
	switch {
	case opt.json:
		var text []byte
		if text, err = diffview.JSON(d); err == nil {
			err = a.PrintJSON("diff", text)
		}
	case opt.html:
		err = a.ShownText(html.Diff(d))
	case opt.markdown:
		err = a.ShownText(render.DiffMarkdown(d, opt.limit()))
	default:
		to := &program.BoundedWriter{To: a.Stdout, Most: opt.most}
		err = errors.Join(terminal.Diff(to, d, a.Colour(a.Stdout)), to.End())
	}
	if err != nil {
		return err
	}
	return program.PassIf(d.Same)
}

// limit is how many bytes the Markdown may have.
func (o *DiffOptions) limit() int { return cmp.Or(o.most, render.CommentLimit) }

// showNbdime prints nbdime's diff, which is of Jupyter notebooks only.
func showNbdime(a *program.App, sides [2]lookup.Side) error {
	var books [2]*ipynb.Notebook
	for i, s := range sides {
		if s.Doc.Form != "jupyter" || s.Source == nil {
			return program.Usagef("--format nbdime compares Jupyter notebooks, and %s is none", s.Doc.Name)
		}
		nb, err := ipynb.Parse(s.Doc.Name, s.Source)
		if err != nil {
			return err
		}
		books[i] = nb
	}
	text, err := nbdime.Diff(books[0], books[1])
	if err != nil {
		return err
	}
	if err := a.ShownText(text); err != nil {
		return err
	}
	return program.PassIf(strings.TrimSpace(string(text)) == "[]")
}
