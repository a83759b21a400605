package notebooks

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"markmill/notebooks/codec"
)

// Manifest closes an output notebook: it lists what the run put in, so that a deleted region is noticed.
type Manifest struct {
	Source     string           `json:"source"` // sha256:… of the source; set by Splice
	Status     string           `json:"status"`
	Parameters []ManifestParam  `json:"parameters"`
	Regions    []ManifestRegion `json:"regions"` // set by Splice
	// ReportMode says that a page is to fold the code of every step, as of one tagged hide-input.
	ReportMode bool `json:"report_mode,omitzero"`
}

// ManifestParam is a parameter as it was injected.
type ManifestParam struct {
	Name  string    `json:"name"`
	Value codec.Raw `json:"value"`
}

// ManifestRegion names a region and its digest.
type ManifestRegion struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

const manifestFence = "```json {.manifest}\n"

// body is the manifest as Markdown: folded, JSON with sorted keys.
func (m Manifest) body() []byte {
	params := m.Parameters
	m.Parameters = make([]ManifestParam, len(params))
	for i, p := range params {
		if !p.Value.IsValid() { // not JSON: its text is kept as a string
			p.Value = mustJSON(strings.ToValidUTF8(string(p.Value), "\uFFFD"))
		}
		m.Parameters[i] = ManifestParam{Name: strings.ToValidUTF8(p.Name, "\uFFFD"), Value: p.Value}
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
	b.Write(data)
	b.WriteString("```\n\n</details>\n")
	return canonical(b.Bytes())
}

func mustJSON(s string) codec.Raw {
	raw, err := codec.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("notebooks: manifest: %v", err))
	}
	return raw
}

// parseManifest reads a body; nil when it is none.
func parseManifest(body []byte) *Manifest {
	_, rest, ok := bytes.Cut(body, []byte(manifestFence))
	end := bytes.LastIndex(rest, []byte("```\n"))
	if !ok || end < 0 {
		return nil
	}
	var m Manifest
	if codec.Unmarshal(rest[:end], &m) != nil {
		return nil
	}
	return &m
}
