package review

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"markmill/notebooks"
)

// ownerOf returns the source of an output on this side, "" without one: by its name beside the output, by the path
// in the manifest, or by the digest there among files beside it or with the same stem.
func (s *side) ownerOf(output string) string {
	owner, known := s.owners[output]
	if !known {
		owner = s.findOwner(output)
		s.owners[output] = owner
	}
	return owner
}

func (s *side) findOwner(output string) string {
	if name := s.beside(output); name != "" {
		return name
	}
	m := s.book(output).look().manifest()
	if m == nil {
		return ""
	}
	if name := s.namedBy(m, output); name != "" || isJupyter(output) {
		return name
	}
	first := func(paths []string) string {
		at := slices.IndexFunc(paths, func(p string) bool {
			return p != output && s.book(p).digest == m.Source && s.isSource(p)
		})
		if at < 0 {
			return ""
		}
		return paths[at]
	}
	if name := first(s.folder(folderOf(output))[m.Source]); name != "" {
		return name
	}
	return first(s.alike(output))
}

// namedBy returns the source that a manifest names, "" if it is missing, or if the notebook is its own output.
func (s *side) namedBy(m *notebooks.Manifest, output string) string {
	if m.SourcePath == "" {
		return ""
	}
	if name := path.Clean(m.SourcePath); name != output &&
		(isJupyter(name) || !isJupyter(output)) && s.isNotebook(name) {
		return name
	}
	return ""
}

// isOutput reports whether a path is the output of a run on this side.
func (s *side) isOutput(name string) bool {
	if !s.there(name) {
		return false
	}
	b := s.book(name)
	if isJupyter(name) {
		return b.look().jupyter != nil && b.manifest() != nil
	}
	return b.mayBeOutput() && b.look().kind == KindOutput
}

// outputsOf returns the outputs of a source on this side, sorted.
func (s *side) outputsOf(source string) []string {
	candidates := slices.Concat(slices.Collect(maps.Values(s.folder(folderOf(source))))...)
	if p := besideOutput(source); s.there(p) {
		candidates = append(candidates, p)
	}
	candidates = append(candidates, s.alike(source)...)
	slices.Sort(candidates)
	return slices.DeleteFunc(slices.Compact(candidates), func(p string) bool {
		return p == source || !s.book(p).mayBeOutput() || s.book(p).look().kind != KindOutput || s.ownerOf(p) != source
	})
}

// owner returns the source of an output on the new side: as the new side alone shows it, else the source it had on
// the old side (wherever that is now), or a changed source whose settings put its output there.
func (r *reviewer) owner(output string) string {
	if name := r.head.beside(output); name != "" {
		return name
	}
	before := r.ownerBefore(output)
	m := r.head.book(output).look().manifest()
	likely := r.bySetting[output]
	if before != "" {
		likely = append([]string{before}, likely...)
	}
	for _, p := range likely {
		if m != nil && r.head.book(p).digest == m.Source {
			return p
		}
	}
	owner := r.head.ownerOf(output)
	// several sources share the path: none owns it for certain
	if owner != "" || len(likely) == 0 || before == "" && len(likely) > 1 {
		return owner
	}
	return likely[0]
}

// settings finds where the new side's settings put the outputs of changed sources.
func (r *reviewer) settings(files []File) {
	r.bySetting = map[string][]string{}
	for _, f := range files {
		if r.in.Output != nil && f.New && r.head.isSource(f.Path) {
			if p := r.configured(f.Path); p != "" {
				r.bySetting[p] = append(r.bySetting[p], f.Path)
			}
		}
	}
}

// ownerBefore returns the present path of the source that an output had on the old side, "" without one.
func (r *reviewer) ownerBefore(output string) string {
	if was := cmp.Or(r.from[output], output); !r.alone && r.base.isOutput(was) {
		return r.now(r.base.ownerOf(was))
	}
	return ""
}

// now returns the new path of a source of the old side, "" if it is gone, or is no longer a source.
func (r *reviewer) now(source string) string {
	if source = cmp.Or(r.to[source], source); r.head.isNotebook(source) {
		return source
	}
	return ""
}

// outputs returns the outputs of a source on the new side (now), and those it had on the old one (before).
func (r *reviewer) outputs(source string) (now, before []string) {
	if !isJupyter(source) {
		now = r.head.outputsOf(source)
	}
	was := cmp.Or(r.from[source], source)
	for _, name := range slices.Compact([]string{source, was}) {
		for _, p := range r.head.naming(name) {
			if p != source && r.head.isOutput(p) {
				now = append(now, p)
			}
		}
	}
	var likely []string
	if r.base.isSource(was) {
		before = r.base.outputsOf(was)
		for _, p := range before {
			likely = append(likely, cmp.Or(r.to[p], p))
		}
	}
	if p := r.configured(source); p != "" {
		likely = append(likely, p)
	}
	for _, p := range likely {
		if r.head.there(p) && r.head.book(p).look().kind == KindOutput {
			now = append(now, p)
		}
	}
	slices.Sort(now)
	return slices.DeleteFunc(slices.Compact(now), func(p string) bool { return r.owner(p) != source }), before
}

// configured returns the path where markmill.yaml puts the output of a source, "" if there is none, or if it depends
// on the run.
func (r *reviewer) configured(source string) string {
	if r.in.Output == nil {
		return ""
	}
	b := r.head.book(source).look()
	p, ok := r.in.Output(source, b.stripped.Source)
	if !ok {
		return ""
	}
	return path.Clean(p)
}
