package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/markmill/remote"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/diff/nbdime"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/documents"
	"markmill/render/html"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

// diffOptions are the options of markmill diff.
type diffOptions struct {
	all, git       bool
	markdown, json bool
	html           bool
	format         string
	tolerance      []string
	most           int // bytes; 0 is no bound but a comment's
}

func (a *app) diffCommand() *cobra.Command {
	var opt diffOptions
	c := &cobra.Command{
		Use: "diff A B", Short: "Compare notebooks, output notebooks, runs and revisions by step",
		Long: `Compares two notebooks and says what a reviewer wants to know, in this order: the status, the tests, the
parameters, the steps (added, removed, moved, renamed, edited, replaced, split, joined), the scraps, what the steps
changed in the worktree, the outputs.

A and B are files (.md, .qmd, .Rmd, .ipynb; source or output), - for standard input, runs (an id, a part of one, last, or a
run directory), or REV:PATH for a path of a Git revision. Two folders (also REV:FOLDER) are compared notebook by notebook,
by their paths. With --git: one revision, whose path is compared with
the file, or two.

Execution counts, times, ids that programs made, volatile metadata and addresses of objects are not compared without --all.

Exit codes: 0 the same, 1 different, 2 one of the two cannot be read.`,
		Example: "  markmill diff task.md new.md\n  markmill diff last task.out.md\n  markmill diff HEAD~1:report.md report.md\n" +
			"  markmill diff HEAD:results results\n  markmill diff --git main HEAD -- notebooks/report.ipynb\n  markmill diff --markdown --tolerance 1% --tolerance loss=0.5 old.out.md new.out.md",
		RunE: func(c *cobra.Command, words []string) error {
			err := a.diff(opt, words, c.ArgsLenAtDash())
			var code exit
			if err == nil || errors.As(err, &code) {
				return err
			}
			return trouble{err}
		},
	}
	f := c.Flags()
	f.BoolVar(&opt.all, "all", false, "compare what is noise, too")
	f.BoolVar(&opt.git, "git", false, "the arguments are REV [REV] -- PATH")
	f.BoolVar(&opt.markdown, "markdown", false, "print Markdown for a pull request comment, at most 65,536 characters")
	f.BoolVar(&opt.html, "html", false, "print one HTML page, side by side, that loads nothing")
	jsonFlag(c, &opt.json, "diff")
	f.IntVar(&opt.most, "max-bytes", 0, "the most bytes of the text or the Markdown; what matters most comes first")
	f.StringVar(&opt.format, "format", "", "nbdime: print nbdime's diff of two Jupyter notebooks")
	f.StringArrayVar(&opt.tolerance, "tolerance", nil, "how far a scrap's number may move: 0.01 or 1%, NAME=1% of one scrap; repeatable")
	return c
}

// trouble is an error of a command whose exit code 1 means that two things differ.
type trouble struct{ error }

func (t trouble) Unwrap() error { return t.error }

func (a *app) diff(opt diffOptions, words []string, dash int) error {
	forms := 0
	for _, on := range []bool{opt.markdown, opt.html, opt.json, opt.format != ""} {
		if on {
			forms++
		}
	}
	switch {
	case forms > 1:
		return usagef("--markdown, --html, --json and --format are each a form of their own; give one")
	case opt.most != 0 && opt.most < review.LeastLimit:
		return usagef("--max-bytes %d is too little to say anything; %d is the least", opt.most, review.LeastLimit)
	case opt.most != 0 && (opt.json || opt.html || opt.format != ""):
		return usagef("--max-bytes bounds text and Markdown; JSON and pages are whole")
	case opt.format != "" && opt.format != "nbdime":
		return usagef("--format %s is not known; there is nbdime", opt.format)
	}
	how, err := compareOptions(opt)
	if err != nil {
		return err
	}
	if opt.git {
		if words, err = gitWords(words, dash); err != nil {
			return err
		}
	}
	if len(words) != 2 {
		return usagef("markmill diff takes A B, and got %d: %s; see markmill diff --help", len(words), strings.Join(words, " "))
	}
	if words[0] == "-" && words[1] == "-" {
		return usagef("standard input can be one of the two")
	}
	if folders, err := a.folders(words); err != nil || folders != nil {
		if err != nil {
			return err
		}
		return a.diffFolders(opt, how, folders)
	}
	var sides [2]side
	for i, word := range words {
		if sides[i], err = a.side(word); err != nil {
			return err
		}
	}
	return a.showDiff(opt, how, sides)
}

// gitWords makes REV:PATH of REV [REV] -- PATH.
func gitWords(words []string, dash int) ([]string, error) {
	if dash < 1 || dash > 2 || len(words) != dash+1 {
		return nil, usagef("--git takes REV [REV] -- PATH, and got %s; see markmill diff --help", strings.Join(words, " "))
	}
	path := words[dash]
	if filepath.IsAbs(path) {
		return nil, usagef("--git: the path is absolute; give it relative to the working directory")
	}
	rel := "./" + filepath.ToSlash(path)
	if dash == 1 {
		return []string{words[0] + ":" + rel, path}, nil
	}
	return []string{words[0] + ":" + rel, words[1] + ":" + rel}, nil
}

// compareOptions reads the tolerances.
func compareOptions(opt diffOptions) (diff.Options, error) {
	how := diff.Options{All: opt.all, Tolerances: map[string]float64{}}
	for _, word := range opt.tolerance {
		name, text, named := strings.Cut(word, "=")
		if !named {
			name, text = "", word
		}
		number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0) {
			return how, usagef("--tolerance %s: expected a number that is not negative, such as 0.01, 1%% or loss=1%%", word)
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

// side is one side of a comparison, as it was read.
type side struct {
	doc *diff.Document
	src []byte // of a notebook
}

// side reads what a word names: a file, a path of a revision, or a run.
func (a *app) side(word string) (side, error) {
	info, err := os.Stat(word)
	switch {
	case word == "-" || remote.Is(word) || err == nil && !info.IsDir():
		src, err := a.readAny(word)
		if err != nil {
			return side{}, err
		}
		doc, err := documents.Read(name(word), src, beside(word))
		return side{doc, src}, err
	case err == nil:
		run, src, err := runs.At(word).Load()
		if errors.Is(err, fs.ErrNotExist) {
			return side{}, badInput(word, "is a directory and holds no run (%s is not in it); name a notebook in it", runs.JournalFile)
		}
		if err != nil {
			return side{}, err
		}
		doc, err := documents.Run(name(word), run, src, runs.At(word))
		return side{doc, nil}, err
	}
	if rev, path, ok := strings.Cut(word, ":"); ok && rev != "" && path != "" {
		return a.revisionSide(word, rev, path)
	}
	if filepath.Ext(word) != "" || strings.ContainsAny(word, `/\`) { // a file that is not there, and no run
		_, err := a.readAny(word)
		return side{}, err
	}
	run, dir, err := a.find(word)
	if err != nil {
		return side{}, err
	}
	_, src, err := runs.At(dir).Load()
	if err != nil {
		return side{}, err
	}
	doc, err := documents.Run(string(run.ID), run, src, runs.At(dir))
	return side{doc, nil}, err
}

// beside reads the pictures of an output notebook, from below its folder.
func beside(word string) documents.Files {
	if word == "-" || remote.Is(word) {
		return nil
	}
	return func(name string) ([]byte, error) {
		root, err := os.OpenRoot(filepath.Dir(word))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		info, err := root.Stat(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() > maxNotebook {
			return nil, fmt.Errorf("%s is no picture of a size that is shown", name)
		}
		return root.ReadFile(filepath.FromSlash(name))
	}
}

func (a *app) revisionSide(word, rev, path string) (side, error) {
	repo, commit, path, err := revisionPath(rev, path)
	if err != nil {
		return side{}, err
	}
	src, err := repo.File(commit, path)
	if errors.Is(err, fs.ErrNotExist) {
		return side{}, notInRevision(rev, path)
	}
	if err != nil {
		return side{}, err
	}
	files := func(name string) ([]byte, error) { return repo.File(commit, pathBeside(path, name)) }
	doc, err := documents.Read(word, src, files)
	return side{doc, src}, err
}

func notInRevision(rev, path string) error {
	return &notebooks.Error{Kind: notebooks.KindInput, File: path, Msg: "is not in " + rev, Hint: "`git ls-tree -r " + rev + "` lists what is; the path counts from the top of the repository, or with ./ from here"}
}

// revisionPath finds the commit of REV:PATH, and the path from the top of the repository; "" is the top itself.
func revisionPath(rev, name string) (*worktree.Source, worktree.OID, string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, "", "", err
	}
	repo, err := worktree.Open(wd)
	if err != nil {
		return nil, "", "", err
	}
	if rest, relative := strings.CutPrefix(name, "./"); relative || name == "." || strings.HasPrefix(name, "../") {
		if !relative {
			rest = name
		}
		if name, err = below(repo.Root(), filepath.Join(wd, filepath.FromSlash(rest))); err != nil {
			return nil, "", "", err
		}
	}
	if name = path.Clean(name); name == "." {
		name = ""
	}
	commit, err := repo.Resolve(rev)
	return repo, commit, name, err
}

// below is a path as the repository at root calls it.
func below(root, path string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil { // a folder that only the revision has
		real = filepath.Dir(path)
	}
	rel, err := filepath.Rel(root, filepath.Join(real, filepath.Base(path)))
	if err != nil || !filepath.IsLocal(rel) {
		return "", usagef("%s is outside of the repository %s", path, root)
	}
	return filepath.ToSlash(rel), nil
}

// pathBeside is the path of a file that stands beside another, slash-separated.
func pathBeside(path, name string) string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Join(filepath.Dir(path), name)), "./")
}

func (a *app) showDiff(opt diffOptions, how diff.Options, sides [2]side) error {
	if opt.format == "nbdime" {
		return a.showNbdime(sides)
	}
	d := diff.Compare(sides[0].doc, sides[1].doc, how)
	var err error
	switch {
	case opt.json:
		var text []byte
		if text, err = diffview.JSON(d); err == nil {
			err = a.printJSON("diff", text)
		}
	case opt.html:
		_, err = a.stdout.Write(html.Diff(d))
	case opt.markdown:
		_, err = a.stdout.Write(render.DiffMarkdown(d, opt.limit()))
	default:
		to := &boundedWriter{to: a.stdout, most: opt.most}
		err = errors.Join(terminal.Diff(to, d, a.colour(a.stdout)), to.end())
	}
	if err != nil {
		return err
	}
	if !d.Same {
		return exit(exitFail)
	}
	return nil
}

// limit is how many bytes the Markdown may have.
func (o *diffOptions) limit() int {
	if o.most > 0 {
		return o.most
	}
	return render.CommentLimit
}

// showNbdime prints nbdime's diff, which is of Jupyter notebooks only.
func (a *app) showNbdime(sides [2]side) error {
	var books [2]*ipynb.Notebook
	for i, s := range sides {
		if s.doc.Form != "jupyter" || s.src == nil {
			return usagef("--format nbdime compares Jupyter notebooks, and %s is none", s.doc.Name)
		}
		nb, err := ipynb.Parse(s.doc.Name, s.src)
		if err != nil {
			return err
		}
		books[i] = nb
	}
	text, err := nbdime.Diff(books[0], books[1])
	if err != nil {
		return err
	}
	if _, err := a.stdout.Write(text); err != nil {
		return err
	}
	if strings.TrimSpace(string(text)) != "[]" {
		return exit(exitFail)
	}
	return nil
}
