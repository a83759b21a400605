package review

import (
	"path"
	"slices"

	"markmill/notebooks"
)

// ownerOf returns the source of an output on this side, "" without one: by its name beside the output, by the path
// in the manifest, or by the digest there among files beside it or with the same stem.
func (s *side) ownerOf(output string) (string, error) {
	if owner, ok := s.owners[output]; ok {
		return owner, nil
	}
	owner, err := s.findOwner(output)
	if err == nil {
		s.owners[output] = owner
	}
	return owner, err
}

func (s *side) findOwner(output string) (string, error) {
	if name := s.beside(output); name != "" {
		return name, nil
	}
	m := s.book(output).look().manifest()
	if m == nil {
		return "", nil
	}
	if name := s.namedBy(m, output); name != "" || isJupyter(output) {
		return name, nil
	}
	beside, err := s.folder(folderOf(output))
	if err != nil {
		return "", err
	}
	for _, p := range beside[m.Source] {
		if p != output && s.isSource(p) {
			return p, nil
		}
	}
	alike, err := s.alike(output)
	if err != nil {
		return "", err
	}
	for _, p := range alike[:min(len(alike), maxAlike)] {
		if p != output && s.book(p).digest == m.Source && s.isSource(p) {
			return p, nil
		}
	}
	return "", nil
}

// namedBy returns the source that a manifest names, "" if it is missing, or if the notebook is its own output.
func (s *side) namedBy(m *notebooks.Manifest, output string) string {
	if m.SourcePath == "" {
		return ""
	}
	if name := path.Clean(m.SourcePath); name != output && (isJupyter(name) || !isJupyter(output)) && s.isNotebook(name) {
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
func (s *side) outputsOf(source string) ([]string, error) {
	beside, err := s.folder(folderOf(source))
	if err != nil {
		return nil, err
	}
	candidates := map[string]bool{}
	for _, paths := range beside {
		for _, p := range paths {
			candidates[p] = true
		}
	}
	if p := besideOutput(source); s.there(p) {
		candidates[p] = true
	}
	alike, err := s.alike(source)
	if err != nil {
		return nil, err
	}
	for _, p := range alike[:min(len(alike), maxAlike)] {
		candidates[p] = true
	}
	var out []string
	for p := range candidates {
		if p == source || !s.book(p).mayBeOutput() || s.book(p).look().kind != KindOutput {
			continue
		}
		owner, err := s.ownerOf(p)
		if err != nil {
			return nil, err
		}
		if owner == source {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out, nil
}

// owner returns the source of an output on the new side: as the new side alone shows it, else the source it had on
// the old side (wherever that is now), or a changed source whose settings put its output there.
func (r *reviewer) owner(output string) (string, error) {
	if name := r.head.beside(output); name != "" {
		return name, nil
	}
	before, err := r.ownerBefore(output)
	if err != nil {
		return "", err
	}
	m := r.head.book(output).look().manifest()
	likely := r.bySetting[output]
	if before != "" {
		likely = append([]string{before}, likely...)
	}
	for _, p := range likely {
		if m != nil && r.head.book(p).digest == m.Source {
			return p, nil
		}
	}
	owner, err := r.head.ownerOf(output)
	// several sources share the path: none owns it for certain
	if err != nil || owner != "" || len(likely) == 0 || before == "" && len(likely) > 1 {
		return owner, err
	}
	return likely[0], nil
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
func (r *reviewer) ownerBefore(output string) (string, error) {
	was := output
	if from, ok := r.from[output]; ok {
		was = from
	}
	if !r.base.isOutput(was) {
		return "", nil
	}
	owner, err := r.base.ownerOf(was)
	if owner == "" || err != nil {
		return "", err
	}
	return r.now(owner), nil
}

// now returns the new path of a source of the old side, "" if it is gone, or is no longer a source.
func (r *reviewer) now(source string) string {
	if to, ok := r.to[source]; ok {
		source = to
	}
	if r.head.isNotebook(source) {
		return source
	}
	return ""
}

// outputs returns the outputs of a source on the new side (now), and those it had on the old one (before).
func (r *reviewer) outputs(source string) (now, before []string, err error) {
	var candidates []string
	if !isJupyter(source) {
		if candidates, err = r.head.outputsOf(source); err != nil {
			return nil, nil, err
		}
	}
	was := source
	if from, ok := r.from[source]; ok {
		was = from
	}
	for _, name := range slices.Compact([]string{source, was}) {
		naming, err := r.head.naming(name)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range naming {
			if p != source && r.head.isOutput(p) {
				candidates = append(candidates, p)
			}
		}
	}
	if r.base.isSource(was) {
		if before, err = r.base.outputsOf(was); err != nil {
			return nil, nil, err
		}
		for _, p := range before {
			if to, ok := r.to[p]; ok {
				p = to
			}
			if r.head.there(p) && r.head.book(p).look().kind == KindOutput {
				candidates = append(candidates, p)
			}
		}
	}
	if p := r.configured(source); p != "" && r.head.there(p) && r.head.book(p).look().kind == KindOutput {
		candidates = append(candidates, p)
	}
	slices.Sort(candidates)
	for _, p := range slices.Compact(candidates) {
		owner, err := r.owner(p)
		if err != nil {
			return nil, nil, err
		}
		if owner == source {
			now = append(now, p)
		}
	}
	return now, before, nil
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
