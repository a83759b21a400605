package region

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"
	gmparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// Splice puts regions into a source, each right after its anchor, and the manifest at the end; it sets Source and
// Regions of the manifest. Regions of one anchor keep their order.
//
// Strip gives the source back, byte for byte, whatever the bodies hold. A body that is not Markdown of its own (a fence
// or a comment that it does not close, link definitions that would reach into the author's text) is shown as text, in a
// fence that it cannot end. Bytes that are not UTF-8, and NUL, become U+FFFD.
//
// A source without a newline at its end gets one before the first region there, and the output then has none at
// its own end: so Strip knows.
func Splice(source []byte, regions []Region, m notebooks.Manifest) []byte {
	regions = append([]Region(nil), regions...)
	sort.SliceStable(regions, func(i, j int) bool {
		return regions[i].Verdict && !regions[j].Verdict || regions[i].Verdict == regions[j].Verdict &&
			regions[i].At < regions[j].At
	})
	m.Source, m.Regions = DigestOf(source), []notebooks.ManifestRegion{}

	parser := blocks.NewParser()
	bare := !bytes.HasSuffix(source, []byte{'\n'})
	end := lineEndBefore(source, bytes.LastIndexByte(source, '\n')+1) // for the newline that the source lacks
	var out bytes.Buffer
	at, closed := 0, false // closed: the newline that the source lacks is written
	copyTo := func(next int) (newline string) {
		next = max(at, min(next, len(source)))
		out.Write(source[at:next])
		at = next
		if next == len(source) && bare {
			if !closed {
				out.WriteString(end)
				closed = true
			}
			return end
		}
		return lineEndBefore(source, next)
	}
	for _, r := range regions {
		if r.Verdict {
			newline := copyTo(VerdictAt(source))
			m.Verdict = writeRegion(&out, markVerdict, selfContained(parser, canonical(r.Body)), newline)
			continue
		}
		newline := copyTo(r.At)
		id := cmp.Or(notebooks.Slug(r.ID), "region")
		sum := writeRegion(&out, markerOut+id, selfContained(parser, canonical(r.Body)), newline)
		m.Regions = append(m.Regions, notebooks.ManifestRegion{ID: id, Digest: sum})
	}
	newline := copyTo(len(source))
	writeRegion(&out, markManifest, manifestBody(m), newline)
	if bare {
		out.Truncate(out.Len() - len(newline))
	}
	return out.Bytes()
}

// writeRegion writes a region whose body is canonical, and returns its digest.
func writeRegion(out *bytes.Buffer, head string, body []byte, newline string) string {
	sum := digest(head, body)
	if head != markVerdict || out.Len() > 0 { // a file does not begin with an empty line
		out.WriteString(newline)
	}
	out.WriteString(blocks.MarkerHead + head + " " + sum + markerTail + newline)
	if newline != "\n" {
		body = bytes.ReplaceAll(body, []byte{'\n'}, []byte(newline))
	}
	out.Write(body)
	out.WriteString(newline + blocks.MarkerHead + markerEnd + sum + markerTail + newline)
	return sum
}

// DigestOf returns the digest of bytes as manifests have it: "sha256:" and 64 hexadecimal digits.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// lineEndBefore returns the line end of the line that ends at an offset; at the head of the text, that of its first
// line.
func lineEndBefore(src []byte, at int) string {
	n := at - 1
	if n < 0 || src[n] != '\n' {
		n = bytes.IndexByte(src, '\n')
	}
	if n > 0 && src[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// SelfContained reports whether a text in Markdown is complete: it leaves nothing open, and defines no links.
func SelfContained(text []byte) bool {
	text = canonical(text)
	return bytes.Equal(selfContained(blocks.NewParser(), text), text)
}

// selfContained returns a body that ends where it ends: it opens nothing that runs on, and defines no links.
func selfContained(p gmparser.Parser, body []byte) []byte {
	const probe = "<!-- end -->\n"
	whole := append(append(append([]byte{}, body...), '\n'), probe...)
	pc := gmparser.NewContext()
	root := p.Parse(text.NewReader(whole), gmparser.WithContext(pc))
	last, ok := root.LastChild().(*ast.HTMLBlock)
	if ok && len(pc.References()) == 0 && last.Lines().Len() == 1 && last.Lines().At(0).Start == len(body)+1 {
		return body
	}
	fence := strings.Repeat("`", max(3, notebooks.LongestRun(body, '`')+1))
	fenced := append([]byte(fence+"text {.output}\n"), body...)
	return append(fenced, fence+"\n"...)
}
