package params

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// Table is a table of parameter values: a row for each run of a sweep.
type Table struct {
	Columns []string // in the order in which they first appear
	Rows    [][]Given
}

// TableSource begins the source of each value of a table; the row and the column follow.
const TableSource = "--table"

// ReadTable reads a table from a file whose name ends in .csv, .tsv, .jsonl, .ndjson, .yaml, .yml or .json.
//
// CSV (RFC 4180) and TSV have the names of parameters in the first line, and values as after -p. An empty cell leaves
// the notebook's default. The other forms have a mapping of names to values for each row: JSON Lines one in each line,
// YAML and JSON a list of them. A byte order mark at the beginning is skipped.
//
// The error is an *Error or an ErrorList with file, line and column: no rows, rows of different lengths, a column that
// has no name or the name of another, and what is no CSV, JSON or YAML.
func ReadTable(file string, data []byte) (*Table, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := &tableReader{file: file, table: &Table{}}
	if !utf8.Valid(data) {
		line, col := place(data, notebooks.InvalidUTF8(data))
		return nil, r.errorf(line, col, "save the table as UTF-8", "the text is not UTF-8")
	}
	var err error
	switch ext := strings.ToLower(path.Ext(strings.ReplaceAll(file, `\`, "/"))); ext {
	case ".csv":
		err = r.csv(data, ',')
	case ".tsv":
		err = r.csv(data, '\t')
	case ".jsonl", ".ndjson":
		err = r.lines(data)
	case ".yaml", ".yml", ".json":
		err = r.list(data)
	default:
		return nil, r.errorf(0, 0, "the name ends in .csv, .tsv, .jsonl, .yaml or .json",
			"the extension names no form of table")
	}
	if err != nil {
		return nil, err
	}
	if len(r.table.Rows) == 0 {
		return nil, r.errorf(0, 0, "write a row for each run", "the table has no rows")
	}
	return r.table, nil
}

type tableReader struct {
	file  string
	table *Table
}

func (r *tableReader) errorf(line, col int, hint, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindParameter, File: r.file, Line: line, Col: col,
		Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// source says where a value stands, for messages and for the record.
func source(row int, column string) string {
	return fmt.Sprintf("%s, row %d, column %s", TableSource, row, column)
}

func (r *tableReader) csv(data []byte, comma rune) error {
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma, in.FieldsPerRecord = comma, -1
	for n := 0; ; n++ {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return r.errorf(bad.Line, bad.Column,
				`put a cell with a quote or a comma in quotes, and write a quote in it as ""`,
				"this is no CSV: %v", bad.Err)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			if err := r.header(cells, in.FieldPos); err != nil {
				return err
			}
			continue
		}
		line, _ := in.FieldPos(0)
		if len(cells) != len(r.table.Columns) {
			return r.errorf(line, 0, "give every row a cell for each column: "+strings.Join(r.table.Columns, ", "),
				"row %d has %d cells, and the first line names %d columns", n, len(cells), len(r.table.Columns))
		}
		row := []Given{}
		for i, cell := range cells {
			if cell == "" {
				continue
			}
			line, col := in.FieldPos(i)
			name := r.table.Columns[i]
			row = append(row, Given{Name: name, Text: cell, Source: source(n, name), File: r.file, Line: line,
				Col: col})
		}
		r.table.Rows = append(r.table.Rows, row)
	}
}

func (r *tableReader) header(cells []string, at func(int) (line, col int)) error {
	for i, name := range cells {
		name = strings.TrimSpace(name)
		line, col := at(i)
		switch {
		case len(cells) == 1 && strings.ContainsAny(name, ";\t"):
			return r.errorf(line, col, "write commas between the cells, or call a file with tabs .tsv",
				"the table has one column, %q", name)
		case name == "":
			return r.errorf(line, col, "the first line names the parameter of each column",
				"column %d has no name", i+1)
		case slices.Contains(r.table.Columns, name):
			return r.errorf(line, col, "leave one of them out", "two columns are called %s", name)
		}
		r.table.Columns = append(r.table.Columns, name)
	}
	return nil
}

func (r *tableReader) lines(data []byte) error {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		y := &yamlReader{file: r.file, offset: i}
		root, err := y.load(line)
		if err != nil {
			return err
		}
		shift(root, i)
		if err := r.row(root); err != nil {
			return err
		}
	}
	return nil
}

// shift moves the places of a node by lines that stand before it.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}

func (r *tableReader) list(data []byte) error {
	root, err := (&yamlReader{file: r.file}).load(data)
	if err != nil {
		return err
	}
	if root == nil || isNull(root) {
		return nil
	}
	if root = target(root); root.Kind != yaml.SequenceNode {
		return r.errorf(root.Line, root.Column, "write a list: - name: value", "a list of rows is expected")
	}
	for _, row := range root.Content {
		if err := r.row(row); err != nil {
			return err
		}
	}
	return nil
}

// row adds a row that is a mapping.
func (r *tableReader) row(n *yaml.Node) error {
	number := len(r.table.Rows) + 1
	if n = target(n); n.Kind != yaml.MappingNode {
		return r.errorf(n.Line, n.Column, "write a mapping of parameter names to values",
			"row %d is no mapping", number)
	}
	y := &yamlReader{file: r.file}
	pairs, err := y.pairs(n, y.nameOf)
	if err != nil {
		return err
	}
	row := []Given{}
	for _, p := range pairs {
		v, err := y.value(p.value)
		if err != nil {
			return err
		}
		name := target(p.key).Value
		row = append(row, Given{Name: name, Value: &v, Source: source(number, name), File: r.file,
			Line: p.value.Line, Col: p.value.Column, node: p.value})
		if !slices.Contains(r.table.Columns, name) {
			r.table.Columns = append(r.table.Columns, name)
		}
	}
	r.table.Rows = append(r.table.Rows, row)
	return nil
}

// MostValues is how many values of one parameter can be run, and how many runs a sweep can have.
const MostValues = 1_000_000

// ParseValues reads the values of one parameter of a sweep: a list separated by commas, each read as after -p; whole
// numbers from 1 to 12 as 1..12, every third of them as 1..12..3; or a YAML list in brackets, for values with commas.
// most bounds their number, up to MostValues. source names where they come from. The error is an *Error.
func ParseValues(source, name, text string, most int) ([]Given, error) {
	bad := func(hint, format string, args ...any) error {
		return &notebooks.Error{Kind: notebooks.KindParameter, Msg: fmt.Sprintf("%s %s: ", source, name) +
			fmt.Sprintf(format, args...), Hint: hint}
	}
	var out []Given
	if strings.HasPrefix(text, "[") {
		y := &yamlReader{file: source + " " + name}
		root, err := y.load([]byte(text))
		if err != nil {
			return nil, err
		}
		if root = target(root); root.Kind != yaml.SequenceNode {
			return nil, bad("write [1, 2]", "a list is expected")
		}
		for _, n := range root.Content {
			v, err := y.value(n)
			if err != nil {
				return nil, err
			}
			out = append(out, Given{Name: name, Value: &v, Source: source, node: n})
		}
	} else {
		for _, word := range strings.Split(text, ",") {
			words, err := ranged(word, min(most, MostValues))
			if err != nil {
				return nil, bad(
					fmt.Sprintf("write FROM..TO or FROM..TO..STEP, such as 1..12; --max-runs allows up to %d",
						MostValues), "%s %v", word, err)
			}
			for _, w := range words {
				out = append(out, Given{Name: name, Text: w, Source: source})
			}
		}
	}
	if len(out) == 0 || text == "" {
		return nil, bad("write "+name+"=1,2,3", "no value is given")
	}
	return out, nil
}

var rangeWord = lazyregexp.New(`^(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.(-?[0-9]+))?$`)

// ranged expands FROM..TO and FROM..TO..STEP as bash does: leading zeros keep their width, and a range may go down. Any
// other word stands for itself.
func ranged(word string, most int) ([]string, error) {
	m := rangeWord.FindStringSubmatch(word)
	if m == nil {
		return []string{word}, nil
	}
	var ends [3]*big.Int
	for i := range ends {
		ends[i], _ = new(big.Int).SetString(m[i+1], 10)
	}
	from, to, step := ends[0], ends[1], ends[2]
	down := from.Cmp(to) > 0
	switch {
	case step == nil && down:
		step = big.NewInt(-1)
	case step == nil:
		step = big.NewInt(1)
	case step.Sign() == 0:
		return nil, errors.New("has the step 0")
	case from.Cmp(to) != 0 && (step.Sign() < 0) != down:
		return nil, errors.New("has a step that leads away from its end")
	}
	count := new(big.Int).Sub(to, from)
	count.Quo(count, step).Add(count, big.NewInt(1))
	if count.Cmp(big.NewInt(int64(most))) > 0 {
		return nil, fmt.Errorf("has %s values, and %d are allowed", count, most)
	}
	width := 0
	for _, end := range m[1:3] {
		if digits := strings.TrimPrefix(end, "-"); len(digits) > 1 && digits[0] == '0' {
			width = max(width, len(end))
		}
	}
	out := make([]string, count.Int64())
	n := new(big.Int).Set(from)
	for i := range out {
		out[i] = fmt.Sprintf("%0*d", width, n)
		n.Add(n, step)
	}
	return out, nil
}
