package region

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf16"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

const manifestFence = "```json {.manifest}\n"

// manifestBody returns the manifest as Markdown: folded, JSON with sorted keys.
func manifestBody(m notebooks.Manifest) []byte {
	params := m.Parameters
	m.Parameters = make([]notebooks.ManifestParam, len(params))
	for i, p := range params {
		if !p.Value.IsValid() { // not JSON: its text is kept as a string
			p.Value = mustJSON(strings.ToValidUTF8(string(p.Value), "\uFFFD"))
		}
		m.Parameters[i] = notebooks.ManifestParam{Name: strings.ToValidUTF8(p.Name, "\uFFFD"),
			Value: p.Value, Given: p.Given}
	}
	m.Status = strings.ToValidUTF8(m.Status, "\uFFFD")
	data, err := codec.Indent(m)
	if err != nil { // every string is valid and every value JSON
		panic(fmt.Sprintf("notebooks: manifest: %v", err))
	}
	regions := fmt.Sprintf("%d regions", len(m.Regions))
	if len(m.Regions) == 1 {
		regions = "1 region"
	}
	status := strings.Join(strings.Fields(m.Status), " ")
	var b bytes.Buffer
	fmt.Fprintf(&b, "<details><summary>manifest · %s · %s</summary>\n\n", html.EscapeString(status), regions)
	b.WriteString(manifestFence)
	b.WriteString(visible(data))
	b.WriteString("```\n\n</details>\n")
	return canonical(b.Bytes())
}

// visible spells characters that a reader would not see, or that reorder a line, as JSON does: only texts have any.
func visible(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co,
			unicode.Variation_Selector):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func mustJSON(s string) codec.Raw {
	raw, err := codec.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("notebooks: manifest: %v", err))
	}
	return raw
}

// parseManifest reads a body; nil if it is not a manifest.
func parseManifest(body []byte) *notebooks.Manifest {
	_, rest, ok := bytes.Cut(body, []byte(manifestFence))
	end := bytes.LastIndex(rest, []byte("```\n"))
	if !ok || end < 0 {
		return nil
	}
	var m notebooks.Manifest
	if codec.Unmarshal(rest[:end], &m) != nil {
		return nil
	}
	return &m
}

// ManifestAtEnd returns the manifest at the end of an output notebook, nil without one. It checks no digest, and so is
// much quicker than Strip: for whoever looks for the files that are worth reading.
func ManifestAtEnd(src []byte) *notebooks.Manifest {
	at := bytes.LastIndex(src, []byte(manifestFence))
	if at < 0 {
		return nil
	}
	return parseManifest(src[at:])
}
