package region

import (
	"bytes"
	"fmt"
	"sort"

	gmparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// Stripped is an output notebook taken apart.
//
// Source is exact when there are no Problems. When there are, it is what is certain: an edited region is taken out
// whole (its text is in Regions), and so are Git's conflict lines where nothing but regions is between them; a marker
// without its end, and all that is not clearly a region, stays.
type Stripped struct {
	Source   []byte
	Regions  []FoundRegion
	Verdict  *FoundRegion        // nil without one
	Manifest *notebooks.Manifest // nil without one
	Problems notebooks.ErrorList // damage; a caller refuses a notebook with any, by default
}

// IsOutput reports whether a run left the notebook, and did not only prepare it.
func (s Stripped) IsOutput() bool {
	if s.Manifest != nil {
		return s.Manifest.Status != notebooks.StatusPrepared
	}
	return len(s.Regions)+len(s.Problems) > 0
}

// Strip takes the regions out.
//
// A region is where Markdown sees its marker as a comment at the left margin of the document, with the digest of what
// follows: a marker inside of a fence, a list or a quote is text, and so is a whole region there. The manifest is also
// found by being the end of the file.
func Strip(name string, src []byte) Stripped {
	if !bytes.Contains(src, []byte(blocks.MarkerHead)) {
		return Stripped{Source: src}
	}
	s := stripping{name: name, src: src}
	if last := src[bytes.LastIndexByte(src, '\n')+1:]; isEndMarker(last) {
		// The source had no newline at its end: as Splice does, think of one.
		s.lent = lineEndBefore(src, len(src)-len(last))
		s.src = append(append(make([]byte, 0, len(src)+2), src...), s.lent...)
	}
	s.lines = notebooks.LineStarts(s.src)
	s.ends = findEnds(s.src)
	s.limit = len(s.src)
	s.takeTail()
	s.scan()
	sort.Slice(s.found, func(i, j int) bool { return s.found[i].span.Start < s.found[j].span.Start })
	s.settleConflicts()
	return s.result()
}

func isEndMarker(line []byte) bool {
	m, ok := parseMarker(line)
	return ok && m.head == ""
}

// stripping is a strip at work.
type stripping struct {
	name     string
	src      []byte
	lent     string // the newline that was added to src
	lines    []int
	ends     map[string][]int // digest to the lines of its end markers, in order
	limit    int              // where the manifest at the end begins
	found    []found
	strays   []int // end markers that the scan met by themselves
	merged   bool  // a conflict was reported
	problems notebooks.ErrorList
}

// found is a region and the bytes that it takes.
type found struct {
	FoundRegion
	head     string
	span     notebooks.Span
	conflict bool // Git's conflict lines are in it or around it
	told     bool // it is the other side of a conflict that was reported
}

// findEnds lists the end markers, so that each marker finds its own without a search.
func findEnds(src []byte) map[string][]int {
	ends := map[string][]int{}
	for at := 0; ; {
		n := bytes.Index(src[at:], []byte(blocks.MarkerHead+markerEnd))
		if n < 0 {
			return ends
		}
		at += n
		end := blocks.LineEnd(src, at)
		if m, ok := parseMarker(src[at:end]); ok && (at == 0 || src[at-1] == '\n') {
			ends[m.digest] = append(ends[m.digest], at)
		}
		at = end
	}
}

// read reads the region whose marker is at an offset; false if it has no end.
func (s *stripping) read(at int, m marker) (found, bool) {
	ends := s.ends[m.digest]
	i := sort.SearchInts(ends, at+1)
	if i == len(ends) || ends[i] >= s.limit {
		return found{}, false
	}
	start := blocks.LineEnd(s.src, at)
	raw := bytes.ReplaceAll(s.src[start:ends[i]], []byte("\r\n"), []byte{'\n'})
	body, spaced := bytes.CutSuffix(raw, []byte{'\n'}) // the empty line before the end marker
	line := sort.SearchInts(s.lines, at+1)
	f := found{head: m.head, span: notebooks.Span{Start: s.emptyLineBefore(at), End: blocks.LineEnd(s.src, ends[i])}}
	f.FoundRegion = FoundRegion{ID: m.id(), Digest: m.digest, Body: body, Line: line}
	f.Edited = !spaced || digest(m.head, body) != m.digest
	f.conflict = f.Edited && holdsConflict(raw)
	return f, true
}

// emptyLineBefore is where the empty line before an offset begins: it belongs to the region. Without one it is the
// offset.
func (s *stripping) emptyLineBefore(at int) int {
	head := 0
	if bytes.HasPrefix(s.src, []byte(notebooks.BOM)) {
		head = len(notebooks.BOM)
	}
	start := at
	if start > head && s.src[start-1] == '\n' {
		start--
		if start > head && s.src[start-1] == '\r' {
			start--
		}
	}
	if start == head || s.src[start-1] == '\n' {
		return start
	}
	return at
}

// takeTail takes a manifest that ends the file, whatever the Markdown before it leaves open.
func (s *stripping) takeTail() {
	if !bytes.HasSuffix(s.src, []byte{'\n'}) {
		return
	}
	at := bytes.LastIndexByte(s.src[:len(s.src)-1], '\n') + 1
	m, ok := parseMarker(s.src[at:])
	if !ok || m.head != "" {
		return
	}
	first := []byte(blocks.MarkerHead + markManifest + " " + m.digest + markerTail)
	start := bytes.LastIndex(s.src[:at], first)
	if start < 0 || start > 0 && s.src[start-1] != '\n' {
		return
	}
	if f, ok := s.read(start, marker{markManifest, m.digest}); ok && !f.Edited && f.span.End == len(s.src) {
		s.found = append(s.found, f)
		s.limit = f.span.Start
	}
}

// scan lets goldmark read the file; regionParser finds the regions on the way.
func (s *stripping) scan() {
	body := min(blocks.FindFrontMatter(s.src).Body, s.limit)
	p := blocks.NewParser(util.Prioritized(&regionParser{s: s, base: body}, 850))
	p.Parse(text.NewReader(s.src[body:s.limit]), gmparser.WithContext(gmparser.NewContext()))
}

// result puts the source together and judges it.
func (s *stripping) result() Stripped {
	out := Stripped{}
	var source []byte
	at, total := 0, 0
	manifests, verdicts := 0, 0
	for _, f := range s.found {
		if f.span.Start > at {
			source = append(source, s.src[at:f.span.Start]...)
		}
		at = max(at, f.span.End)
		total++
		switch f.head {
		case markManifest:
			manifests++
			out.Manifest = parseManifest(f.Body)
		case markVerdict:
			verdicts++
			out.Verdict = &f.FoundRegion
		default:
			out.Regions = append(out.Regions, f.FoundRegion)
		}
		s.judge(f)
	}
	if total == 0 {
		source = s.src[:len(s.src)-len(s.lent)]
	} else {
		source = s.settleEnd(append(source, s.src[at:]...), at == len(s.src), out.Manifest)
	}
	s.compare(out.Regions, out.Verdict != nil, out.Manifest, manifests)
	s.compareVerdict(out.Verdict, verdicts, out.Manifest)
	out.Source, out.Problems = source, s.problems
	out.Problems.Sort()
	return out
}

// settleEnd takes away the newline that was lent. Where an editor has added or removed the newline at the end of the
// output, the manifest's digest tells which of the two the source had.
func (s *stripping) settleEnd(source []byte, regionLast bool, m *notebooks.Manifest) []byte {
	if !regionLast {
		return bytes.TrimSuffix(source, []byte(s.lent))
	}
	with, without := source, source
	if s.lent != "" {
		without = bytes.TrimSuffix(source, []byte(s.lent))
	} else {
		without = bytes.TrimSuffix(bytes.TrimSuffix(source, []byte{'\n'}), []byte{'\r'})
	}
	first, second := with, without
	if s.lent != "" {
		first, second = without, with
	}
	if m != nil && m.Source != DigestOf(first) && m.Source == DigestOf(second) {
		return second
	}
	return first
}

// judge reports what is wrong with a region by itself.
func (s *stripping) judge(f found) {
	what := "the region of this step"
	switch f.head {
	case markManifest:
		what = "the manifest"
	case markVerdict:
		what = "the verdict"
	}
	switch {
	case f.told:
	case f.conflict:
		s.merged = true
		s.problem(f, what+" holds the conflict lines of a merge (<<<<<<<, =======, >>>>>>>)",
			"take one side of the conflict whole, or strip the file and run it again")
	case f.Edited:
		s.problem(f, what+" was edited: its digest is another", "undo the edit, or strip the file and run it again")
	}
}

func (s *stripping) problem(f found, msg, hint string) {
	s.problems = append(s.problems, &notebooks.Error{Kind: notebooks.KindRegion, File: s.name, Line: f.Line, Col: 1,
		Step: notebooks.StepID(f.ID),
		Msg:  msg, Hint: hint})
}

// compareVerdict holds the verdict against the manifest.
func (s *stripping) compareVerdict(v *FoundRegion, verdicts int, m *notebooks.Manifest) {
	const again = "strip the file and run it again"
	switch {
	case s.merged || m == nil: // and told
	case verdicts > 1:
		s.problem(found{FoundRegion: *v}, fmt.Sprintf("the file holds %d verdicts", verdicts),
			"keep the output of one run")
	case v == nil && m.Verdict != "":
		s.problem(found{FoundRegion: FoundRegion{Line: 1}}, "the verdict was deleted: the manifest lists it",
			"restore it, or "+again)
	case v != nil && !v.Edited && v.Digest != m.Verdict:
		s.problem(found{FoundRegion: *v}, "the verdict is of another run: the manifest does not list it", again)
	}
}

// compare checks the regions against the manifest. some says that there are regions of no step.
func (s *stripping) compare(regions []FoundRegion, some bool, m *notebooks.Manifest, manifests int) {
	last := FoundRegion{Line: len(s.lines)} // the last line: what is missing has no place
	if bytes.HasSuffix(s.src, []byte{'\n'}) {
		last.Line = max(1, last.Line-1)
	}
	switch {
	case s.merged: // and reported: neither manifest covers the whole
		return
	case manifests > 1:
		s.problem(found{FoundRegion: last}, fmt.Sprintf("the file holds %d manifests", manifests),
			"keep the output of one run")
		return
	case m == nil && manifests == 1: // edited, and reported
		return
	case m == nil && (some || len(regions) > 0):
		s.problem(found{FoundRegion: last}, "the manifest that closes an output notebook is missing",
			"restore it, or strip the file and run it again")
		return
	case m == nil:
		return
	}
	have := map[notebooks.ManifestRegion]int{}
	edited := map[string]int{}
	for _, r := range regions {
		if r.Edited {
			edited[r.ID]++
		} else {
			have[notebooks.ManifestRegion{ID: r.ID, Digest: r.Digest}]++
		}
	}
	for _, r := range m.Regions {
		switch {
		case have[r] > 0:
			have[r]--
		case edited[r.ID] > 0:
			edited[r.ID]--
		default:
			last.ID = r.ID
			s.problem(found{FoundRegion: last}, "the region of this step was deleted: the manifest lists it",
				"restore it, or strip the file and run it again")
		}
	}
	for _, r := range regions {
		if key := (notebooks.ManifestRegion{ID: r.ID, Digest: r.Digest}); !r.Edited && have[key] > 0 {
			have[key]--
			s.problem(found{FoundRegion: r}, "the region of this step is of another run: the manifest does not list it",
				"strip the file and run it again")
		}
	}
}
