package kernel

import (
	"encoding/csv"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/scrapbook"
)

const glueUsage = `usage: glue [--json|--table|--image|--file] [--display] NAME [VALUE|-]

Records a scrap that later steps of any language read, and that the record keeps.
VALUE is text, kept as it is: 007 stays 007. With - or no VALUE it is read from standard input;
one newline at its end is dropped.
  --json      VALUE is JSON
  --table     VALUE is CSV with a line of names first, or JSON {"columns":[…],"data":[[…]]}
  --image     VALUE is the path of a picture, which is copied
  --file      VALUE is the path of a file, which is copied
  --display   show the scrap in the output notebook
`

var glueFlags = []string{"--text", "--json", "--table", "--image", "--file", "--display"}

// GlueMain is the command glue. MARKMILL_SCRAPS names the file that it appends to, and
// MARKMILL_STEP_DIR the directory that pictures and files are copied to. Without a flag a value is text:
// a shell has nothing else, and what looks like a number there (007, 1.10) often is none.
// It returns 0, 1 when the scrap could not be recorded, 2 when it was called wrongly.
func GlueMain(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	kind, display := "text", false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		flag := args[0]
		args = args[1:]
		if flag == "--" {
			break
		}
		switch flag {
		case "--text", "--json", "--table", "--image", "--file":
			kind = flag[2:]
		case "--display":
			display = true
		case "--help", "-h":
			fmt.Fprint(stdout, glueUsage)
			return 0
		default:
			fmt.Fprintf(stderr, "glue: unknown flag %s\n%s", flag, glueUsage)
			return 2
		}
	}
	if len(args) < 1 || len(args) > 2 || args[0] == "" {
		fmt.Fprint(stderr, glueUsage)
		return 2
	}
	if len(args) == 2 && slices.Contains(glueFlags, args[1]) {
		fmt.Fprintf(stderr, "glue: %s stands behind the name, where the value stands; options come first: "+
			"glue %s %s (or give that value on standard input)\n", args[1], args[1], args[0])
		return 2
	}
	entry, err := gluedEntry(kind, args, stdin, getenv("MARKMILL_STEP_DIR"))
	if err == nil {
		entry.Display = display
		err = appendScrap(getenv("MARKMILL_SCRAPS"), entry)
	}
	if err != nil {
		fmt.Fprintf(stderr, "glue: %s: %v\n", args[0], err)
		return 1
	}
	return 0
}

func gluedEntry(kind string, args []string, stdin io.Reader, dir string) (runs.ScrapData, error) {
	entry := runs.ScrapData{Name: args[0], Type: kind}
	value := ""
	if len(args) == 2 && args[1] != "-" {
		value = args[1]
	} else {
		raw, err := io.ReadAll(stdin)
		if err != nil {
			return entry, fmt.Errorf("reading the value: %w", err)
		}
		value = strings.TrimSuffix(string(raw), "\n")
	}
	if kind != "image" && kind != "file" && !utf8.ValidString(value) {
		return entry, fmt.Errorf("the value is not UTF-8; record it as a file (glue --file)")
	}
	var err error
	switch kind {
	case "text":
		entry.Value, err = codec.Marshal(value)
	case "json":
		if entry.Value = codec.Raw(value); !entry.Value.IsValid() {
			err = fmt.Errorf("the value is not JSON: %.60q", value)
		} else {
			err = entry.Value.Compact()
		}
	case "table":
		entry.Value, err = tableValue(value)
	default:
		entry.File, entry.MIME, err = keepFile(entry.Name, value, dir)
	}
	return entry, err
}

// table is the form of a table: names of the columns, and rows.
type table struct {
	Columns []string      `json:"columns"`
	Data    [][]codec.Raw `json:"data"`
}

func tableValue(text string) (codec.Raw, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var t table
		if err := codec.Unmarshal([]byte(text), &t); err != nil {
			return nil, fmt.Errorf("the value is no table of JSON: %w", err)
		}
		return codec.Marshal(t)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("the value is no CSV with a line of names first: %w", err)
	}
	t := table{Columns: rows[0], Data: [][]codec.Raw{}}
	for _, row := range rows[1:] {
		var cells []codec.Raw
		for _, c := range row {
			cell, err := codec.Marshal(c)
			if err != nil {
				return nil, err
			}
			cells = append(cells, cell)
		}
		t.Data = append(t.Data, cells)
	}
	return codec.Marshal(t)
}

// keepFile copies a file into the step's directory, where the record keeps it.
func keepFile(name, path, dir string) (kept, mimeType string, err error) {
	if dir == "" {
		return "", "", fmt.Errorf("MARKMILL_STEP_DIR is not set: this step has no directory for files")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", "", err
	}
	ext := filepath.Ext(path)
	kept = filepath.Join(dir, "scrap-"+safeName(name)+ext)
	mimeType, _, _ = strings.Cut(mime.TypeByExtension(ext), ";")
	return kept, mimeType, os.WriteFile(kept, content, 0o666)
}

func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// appendScrap adds a line in a single write, so that steps that run at once do not mix theirs.
func appendScrap(path string, entry runs.ScrapData) error {
	if path == "" {
		return fmt.Errorf("MARKMILL_SCRAPS is not set: it works in a step of a notebook")
	}
	// The line has the value as it was written: canonical JSON would round a large integer.
	value := entry.Value
	entry.Value = nil
	line, err := codec.Marshal(entry)
	if err != nil {
		return err
	}
	if value != nil {
		line = append(append(append(line[:len(line)-1], `,"value":`...), value...), '}')
	}
	line = append(line, '\n')
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if _, err = f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

const scrapUsage = `usage: scrap [--json] NAME

Prints a scrap that an earlier step recorded: text as it is, a picture or a file as its path, and
all else as JSON. With --json text is JSON too.
`

// ScrapMain is the command scrap. It returns 0, 1 when there is no such scrap, 2 when it was called wrongly.
func ScrapMain(args []string, _ io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	asJSON := false
	if len(args) > 0 && args[0] == "--json" {
		asJSON, args = true, args[1:]
	}
	if len(args) != 1 || args[0] == "--help" || args[0] == "-h" {
		fmt.Fprint(stderr, scrapUsage)
		return 2
	}
	entries, err := readScraps(getenv("MARKMILL_SCRAPS"))
	if err != nil {
		fmt.Fprintf(stderr, "scrap: %v\n", err)
		return 1
	}
	var found *runs.ScrapData
	var names []string
	for i := range entries {
		names = append(names, entries[i].Name)
		if entries[i].Name == args[0] {
			found = &entries[i] // the last one counts
		}
	}
	if found == nil {
		slices.Sort(names)
		known := strings.Join(slices.Compact(names), ", ")
		if known == "" {
			known = "none yet"
		}
		fmt.Fprintf(stderr, "scrap: no scrap is named %q; known: %s\n", args[0], known)
		return 1
	}
	text, err := scrapText(found, asJSON)
	if err != nil {
		fmt.Fprintf(stderr, "scrap: %s: %v\n", args[0], err)
		return 1
	}
	if _, err := fmt.Fprintln(stdout, text); err != nil {
		return 1
	}
	return 0
}

func scrapText(entry *runs.ScrapData, asJSON bool) (string, error) {
	text := entry.File
	if entry.File == "" {
		if entry.Type != "text" {
			return string(entry.Value), nil
		}
		if err := codec.Unmarshal(entry.Value, &text); err != nil {
			return "", err
		}
	}
	if !asJSON {
		return text, nil
	}
	raw, err := codec.Marshal(text)
	return string(raw), err
}

// readScraps reads the scraps file; a line that is still being written is left for later.
func readScraps(path string) ([]runs.ScrapData, error) {
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var entries []runs.ScrapData
	for line := range strings.Lines(string(raw)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var e runs.ScrapData
		if err := codec.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("the scraps file %s has a damaged line: %w", path, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// glue records the scraps that Python's scrapbook, or its counterpart in another language, puts into a display. A
// display does not replace a value that the step recorded under the same name.
func (s *jupyterStep) glue(o jupyter.Output) error {
	if s.scraps == "" {
		return nil
	}
	for _, found := range scrapbook.Read(o.Data, o.Metadata) {
		if found.Shown && s.glued[found.Name] {
			continue
		}
		if !found.Shown {
			if s.glued == nil {
				s.glued = map[string]bool{}
			}
			s.glued[found.Name] = true
		}
		entry := found.ScrapData
		if found.Content != nil {
			if err := os.MkdirAll(s.r.DisplayDir, 0o777); err != nil {
				return err
			}
			entry.File = filepath.Join(s.r.DisplayDir, "scrap-"+safeName(entry.Name)+scrapbook.Extension(entry.MIME))
			if err := os.WriteFile(entry.File, found.Content, 0o666); err != nil {
				return err
			}
		}
		if err := appendScrap(s.scraps, entry); err != nil {
			return err
		}
	}
	return nil
}
