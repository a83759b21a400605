package scrapbook

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/parquet"
)

// MIME types of the two.
const (
	scrapPrefix  = "application/scrapbook.scrap."
	recordPrefix = "application/papermill.record" // of papermill before 1.0
	nullMIME     = "application/vnd.markmill.scrap+json"
)

// Encoders of scrapbook.
const (
	encoderText   = "text"
	encoderJSON   = "json"
	encoderPandas = "pandas"
)

// Scrap is a scrap that an output holds.
type Scrap struct {
	runs.ScrapData        // File is not set
	Content        []byte // of an image or a file
	// Shown means that the output displays something under the name but has no value.
	Shown bool
}

// shown lists the MIME types of displays to keep, best first, with their file extensions.
var shown = []struct{ mime, ext string }{
	{"image/svg+xml", ".svg"}, {"image/png", ".png"}, {"image/jpeg", ".jpg"}, {"text/html", ".html"},
	{"text/markdown", ".md"}, {"text/latex", ".tex"},
	{"application/json", ".json"}, {"text/plain", ""},
}

// Extension returns the file extension of a MIME type.
func Extension(mime string) string {
	for _, s := range shown {
		if s.mime == mime {
			return s.ext
		}
	}
	return ""
}

// Holds reports whether an output may hold a scrap. Most hold none and need no parsing.
func Holds(data, metadata map[string]codec.Raw) bool {
	for mime := range data {
		if isScrap(mime) {
			return true
		}
	}
	return metadata["scrapbook"] != nil || metadata["papermill"] != nil
}

func isScrap(mime string) bool {
	return mime == nullMIME || strings.HasPrefix(mime, scrapPrefix) || strings.HasPrefix(mime, recordPrefix)
}

// Read returns the scraps of an output, given its MIME bundle and metadata.
func Read(data, metadata map[string]codec.Raw) []Scrap {
	var out []Scrap
	for _, mime := range slices.Sorted(maps.Keys(data)) {
		if name, value, encoder, ok := payload(mime, data[mime]); ok {
			out = append(out, Scrap{ScrapData: decoded(name, encoder, value)})
		}
	}
	name := shownName(metadata)
	if name == "" {
		return out
	}
	for i := range out {
		if out[i].Name == name {
			out[i].Display = true
			return out
		}
	}
	if s, ok := showing(name, data); ok {
		out = append(out, s)
	}
	return out
}

// Same reports whether two values are equal, however they are written. Some kernels send NaN and infinities as text.
func Same(a, b codec.Raw) bool {
	x, err := codec.Marshal(a)
	y, err2 := codec.Marshal(b)
	return err == nil && err2 == nil && (bytes.Equal(x, y) || isTag(y, "$float") && PlainText(x) == PlainText(y))
}

// payload reads the value of one MIME type.
func payload(mime string, raw codec.Raw) (name string, value codec.Raw, encoder string, ok bool) {
	if rest, record := strings.CutPrefix(mime, recordPrefix); record {
		c := codec.NewCursor(raw, 0)
		if c.Kind() != '{' {
			return
		}
		_, err := c.Object(func(key []byte, _ codec.Span) error {
			at, err := c.Skip()
			if err == nil && !ok { // only the first counts
				name, value, ok = string(key), codec.Raw(at.Of(raw)), true
			}
			return err
		})
		if encoder = strings.TrimLeft(rest, "+/"); encoder == "" {
			encoder = encoderJSON
		}
		return name, value, encoder, err == nil && ok && name != ""
	}
	if !isScrap(mime) {
		return
	}
	var p struct {
		Name      string    `json:"name"`
		Data      codec.Raw `json:"data"`
		Reference codec.Raw `json:"ref"`
		Encoder   string    `json:"encoder"`
	}
	if codec.UnmarshalForeign(raw, &p) != nil || p.Name == "" {
		return
	}
	if p.Encoder == "" {
		p.Encoder = strings.TrimSuffix(strings.TrimPrefix(mime, scrapPrefix), "+json")
	}
	switch {
	case len(p.Data) > 0:
		return p.Name, p.Data, p.Encoder, true
	case len(p.Reference) > 0: // refers outside the notebook
		return p.Name, p.Reference, "ref", true
	}
	return
}

// whole returns a copy of a value with invalid UTF-8 replaced, so that a record can hold it.
func whole(value codec.Raw) codec.Raw { return bytes.ToValidUTF8(value, []byte("\uFFFD")) }

// decoded returns a value as its encoder meant it.
func decoded(name, encoder string, value codec.Raw) runs.ScrapData {
	if value = whole(value); value.Compact() != nil { // a scrap must fit on one line
		value = codec.Raw("null")
	}
	s := runs.ScrapData{Name: name, Type: runs.ScrapJSON, Value: value}
	switch {
	case encoder == encoderText:
		s.Type = runs.ScrapText
		if value.Kind() != '"' {
			s.Value, _ = codec.Marshal(string(value))
		}
	case encoder == encoderJSON:
	default:
		if t, ok := frame(value); ok {
			s.Type, s.Value = runs.ScrapTable, t
		} else {
			s.Encoder = encoder
		}
	}
	return s
}

// frame reads a data frame that pandas wrote as Parquet.
func frame(value codec.Raw) (codec.Raw, bool) {
	var text string
	if codec.UnmarshalForeign(value, &text) != nil {
		return nil, false
	}
	file, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	table, err := parquet.Read(file)
	if err != nil {
		return nil, false
	}
	dropIndex(&table)
	out, err := codec.Marshal(table)
	return out, err == nil
}

// dropIndex removes the row index, which pandas stores as a column if it is not a simple range.
func dropIndex(t *parquet.Table) {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !strings.HasPrefix(t.Columns[i], "__index_level_") {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for n := range t.Data {
			t.Data[n] = slices.Delete(t.Data[n], i, i+1)
		}
	}
}

// shownName returns the name under which an output displays something, or "".
func shownName(metadata map[string]codec.Raw) string {
	var about struct {
		Name    string `json:"name"`
		Display bool   `json:"display"`
	}
	if raw := metadata["papermill"]; raw != nil {
		if codec.UnmarshalForeign(raw, &about) == nil && about.Name != "" {
			return about.Name
		}
	}
	if raw := metadata["scrapbook"]; raw == nil || codec.UnmarshalForeign(raw, &about) != nil || !about.Display {
		return ""
	}
	return about.Name
}

// showing returns what an output displays, in its best form.
func showing(name string, data map[string]codec.Raw) (Scrap, bool) {
	s := Scrap{ScrapData: runs.ScrapData{Name: name, Type: runs.ScrapFile, Display: true}, Shown: true}
	for _, form := range shown {
		raw, ok := data[form.mime]
		if !ok {
			continue
		}
		if form.mime == "application/json" {
			s.Type, s.Value = runs.ScrapJSON, whole(raw)
			return s, true
		}
		text := textOf(raw)
		if form.mime == "text/plain" {
			s.Type = runs.ScrapText
			var err error
			s.Value, err = codec.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
			return s, err == nil
		}
		s.MIME, s.Content = form.mime, []byte(text)
		if strings.HasPrefix(form.mime, "image/") {
			s.Type = runs.ScrapImage
			if form.mime != "image/svg+xml" {
				content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
				if err != nil {
					continue
				}
				s.Content = content
			}
		}
		return s, true
	}
	return s, false
}

// textOf reads a text of a MIME bundle: a string, or a list of lines.
func textOf(raw codec.Raw) string {
	var text string
	if codec.UnmarshalForeign(raw, &text) == nil {
		return text
	}
	var lines []string
	if codec.UnmarshalForeign(raw, &lines) != nil {
		return string(raw)
	}
	return strings.Join(lines, "")
}
