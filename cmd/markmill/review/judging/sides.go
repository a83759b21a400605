package judging

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/review"
)

// maxFile is how much of a file is read, in bytes.
const maxFile = 8 << 20

// side is one of the two trees.
type side struct {
	*worktree.Files
	defs map[string][]definition
}

// text reads a file; nil if it is not there or cannot be read.
func (s *side) text(name string) []byte {
	text, err := s.Read(name, maxFile)
	if err != nil {
		return nil
	}
	return text
}

func (s *side) definitions(name string) []definition {
	if list, ok := s.defs[name]; ok {
		return list
	}
	list := definitions(name, s.text(name))
	s.defs[name] = list
	return list
}

// find looks a definition up by its name, or by the last part of it where that is clear.
func (s *side) find(file, name string) *definition {
	list := s.definitions(file)
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	_, short, _ := strings.Cut(name, "::")
	if short == "" {
		short = name
	}
	var found *definition
	for i := range list {
		if strings.HasSuffix("::"+list[i].name, "::"+short) {
			if found != nil {
				return nil
			}
			found = &list[i]
		}
	}
	return found
}

// at is the smallest definition around a line.
func (s *side) at(file string, line int) (found *definition) {
	list := s.definitions(file)
	for i := range list {
		d := &list[i]
		if d.from <= line && line <= d.to && (found == nil || d.to-d.from <= found.to-found.from) {
			found = d
		}
	}
	return found
}

// change is what differs between the two sides, to one notebook.
type change struct {
	repo           *worktree.Source
	old, now       *side
	engine.Touched          // what differs, without notebooks and their outputs
	own            []string // the notebook and the settings, if they differ
	names          []string // all judge files of the base
	gone           map[string]bool
	index          map[string][]place // of the base's judge files, by name
	indexed        string
}

type place struct {
	file string
	def  definition
}

// changeFor divides what differs by the table of judge files.
func (j *judging) changeFor(nb *notebooks.Notebook, name string) (*change, error) {
	c := &change{repo: j.repo, old: j.old, now: j.now}
	table, differing := j.cfg.JudgeFiles(nb), []string{}
	for _, p := range j.differing {
		switch {
		case p == name || p == engine.ConfigFile: // of the base in any case
			c.own = append(c.own, p)
		case review.IsNotebookName(p) && j.isNotebook(p):
		default:
			differing = append(differing, p)
		}
	}
	c.Touched = table.Touched(differing)
	var err error
	c.names, err = j.old.All(table.Is)
	return c, err
}

// sameJudges reports whether no judge file and no test table differs.
func (c *change) sameJudges() bool {
	return len(c.Judges)+len(c.own) == 0 && !slices.ContainsFunc(c.Mixed, func(p string) bool {
		return !bytes.Equal(engine.Mixed(p, c.now.text(p), c.old.text(p)), c.now.text(p))
	})
}

// sameProduct reports whether nothing but judge files differs.
func (c *change) sameProduct() bool {
	return len(c.Product) == 0 && !slices.ContainsFunc(c.Mixed, func(p string) bool {
		return !bytes.Equal(engine.Mixed(p, c.now.text(p), c.old.text(p)), c.old.text(p))
	})
}

// overlay is the code of the branch over the base's commit: what differs of the base but its judge files. instead has
// other contents of judge files, which the base's would not let anything load.
func (c *change) overlay(instead map[string][]byte) (list []worktree.Restored, err error) {
	for _, p := range c.Product {
		r := worktree.Restored{Path: p}
		blob, mode, ok, err := c.now.Entry(p)
		if err != nil {
			return nil, err
		}
		if ok {
			r.Blob, r.Mode = blob, mode
			if !c.repo.HasBlob(blob) { // of the checkout
				if r.Text, err = c.now.Read(p, 1<<30); errors.Is(err, fs.ErrNotExist) { // a link
					continue
				} else if err != nil {
					return nil, err
				}
			}
		}
		list = append(list, r)
	}
	add := func(p string, text []byte) {
		mode := "100644"
		if _, m, ok, _ := c.old.Entry(p); ok {
			mode = m
		}
		list = append(list, worktree.Restored{Path: p, Mode: mode, Text: text})
	}
	for _, p := range c.Mixed {
		add(p, engine.Mixed(p, c.now.text(p), c.old.text(p)))
	}
	for p, text := range instead {
		add(p, text)
	}
	return list, nil
}

// goneNames are the names that the code of the base defined and that of the branch no longer has.
func (c *change) goneNames() map[string]bool {
	if c.gone == nil {
		c.gone = map[string]bool{}
		left := map[string]bool{}
		for _, p := range c.Product {
			for w := range words(string(c.now.text(p))) {
				left[w] = true
			}
		}
		for _, p := range c.Product {
			for _, d := range c.old.definitions(p) {
				if name := d.name[strings.LastIndexByte(d.name, ':')+1:]; !left[name] {
					c.gone[name] = true
				}
			}
		}
	}
	return c.gone
}

// relative is the path in the repository of a judge file that a runner names by its whole path.
func (c *change) relative(file string) string {
	best := ""
	for _, p := range c.names {
		if path.IsAbs(file) && strings.HasSuffix(file, "/"+p) && len(p) > len(best) {
			best = p
		}
	}
	return cmp.Or(best, file)
}

// fileOf finds the judge file that a runner means, and in it the test.
func (c *change) fileOf(file, name string, line int) (string, *definition) {
	named := strings.TrimPrefix(path.Clean(strings.ReplaceAll(file, `\`, "/")), "./")
	module := strings.ReplaceAll(file, ".", "/")
	rank := func(p string) int {
		stem := strings.TrimSuffix(p, path.Ext(p))
		switch {
		case file == "":
			return 1
		case p == named || strings.HasSuffix(named, "/"+p):
			return 4
		case strings.HasSuffix("/"+stem, "/"+module):
			return 3
		case path.Base(stem) == file || strings.HasSuffix("/"+file, "/"+path.Dir(p)) || path.Dir(p) == ".":
			return 2 // a class, or the package of Go
		}
		return 0
	}
	best, found, where := 0, (*definition)(nil), ""
	for _, p := range c.names {
		r := rank(p)*1000 + len(path.Dir(p))
		if rank(p) == 0 || r <= best {
			continue
		}
		d := c.old.find(p, name)
		if d == nil && line > 0 && rank(p) >= 3 {
			d = c.old.at(p, line)
		}
		if d != nil || rank(p) >= 3 {
			best, found, where = r, d, p
		}
	}
	if found != nil || file == "" {
		return where, found
	}
	for _, p := range c.names { // a test that is inherited
		if d := c.old.find(p, name); d != nil && d.test {
			return p, d
		}
	}
	return where, nil
}
