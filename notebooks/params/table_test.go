package params

import (
	"strings"
	"testing"

	"markmill/notebooks"
)

// rowsOf writes the rows of a table as NAME=VALUE words.
func rowsOf(t *Table) string {
	var lines []string
	for _, row := range t.Rows {
		var words []string
		for _, g := range row {
			text := g.Text
			if g.Value != nil {
				text = g.Value.String()
			}
			words = append(words, g.Name+"="+text)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

func TestReadTable(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"t.csv", "\ufeffregion,month\r\neu,1\r\n\"u,s\",\r\n", "region=eu month=1\nregion=u,s"},
		{"t.tsv", "region\tmonth\neu\t017\n", "region=eu month=017"},
		{"t.jsonl", "{\"a\": 1}\n\n{\"b\": \"x\"}\n", "a=1\nb=x"},
		{"t.yaml", "- {a: 1}\n- b: x\n", "a=1\nb=x"},
		{"t.json", `[{"a": 1}, {"a": [2, 3]}]`, "a=1\na=[2,3]"},
	} {
		got, err := ReadTable(tt.file, []byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
		} else if rowsOf(got) != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.file, rowsOf(got), tt.want)
		}
	}
}

func TestReadTableMistakes(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"t.csv", "", "t.csv: the table has no rows"},
		{"t.csv", "a,b\n", "t.csv: the table has no rows"},
		{"t.csv", "a,b\n1,2\n3\n", "t.csv:3: row 2 has 1 cells, and the first line names 2 columns"},
		{"t.csv", "a,\n1,2\n", "t.csv:1:3: column 2 has no name"},
		{"t.csv", "a,a\n1,2\n", "t.csv:1:3: two columns are called a"},
		{"t.csv", "a;b\n1;2\n", "t.csv:1:1: the table has one column, \"a;b\"; write commas"},
		{"t.csv", "a\n\"1\n", "t.csv:2:4: this is no CSV"},
		{"t.csv", "a\n\xff\n", "t.csv:2:1: the text is not UTF-8"},
		{"t.txt", "a\n1\n", "t.txt: the extension names no form of table"},
		{"t.jsonl", "{\"a\": 1}\n[1]\n", "t.jsonl:2:1: row 2 is no mapping"},
		{"t.jsonl", "{\"a\": 1}\n{\"a\": \n", "t.jsonl:2"},
		{"t.yaml", "a: 1\n", "t.yaml:1:1: a list of rows is expected"},
	} {
		_, err := ReadTable(tt.file, []byte(tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v; want %s", tt.text, err, tt.want)
		}
	}
}

// TestTablePlaces: a value that its type refuses is named by line and column, in JSON Lines too.
func TestTablePlaces(t *testing.T) {
	declared := []notebooks.Param{{Name: "n", Type: notebooks.TypeInt}}
	for file, text := range map[string]string{"t.csv": "m,n\n,1\n,x\n", "t.jsonl": "{\"n\": 1}\n\n{  \"n\": \"x\"}\n"} {
		table, err := ReadTable(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Bind("", declared, table.Rows[1], Options{})
		if err == nil || !strings.HasPrefix(err.Error(), file+":3:") ||
			!strings.Contains(err.Error(), "row 2, column n") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestParseValues(t *testing.T) {
	for text, want := range map[string]string{
		"eu,us": "eu us", "1..4": "1 2 3 4", "08..11": "08 09 10 11", "3..1": "3 2 1", "1..10..4": "1 5 9",
		"-1..1,7": "-1 0 1 7", `[1, "a,b"]`: "1 a,b", "1..x": "1..x", "5..5": "5",
	} {
		got, err := ParseValues("--matrix", "n", text, 100)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if words := strings.ReplaceAll(rowsOf(&Table{Rows: [][]Given{got}}), "n=", ""); words != want {
			t.Errorf("%s: %s; want %s", text, words, want)
		}
	}
	for text, want := range map[string]string{
		"": "no value is given", "[]": "no value is given", "1..9..0": "has the step 0", "1..9..-1": "leads away",
		"1..10000000": "has 10000000 values, and 100 are allowed", "[1": "this is not YAML",
		"1..99999999999999999999": "has 99999999999999999999 values",
	} {
		if _, err := ParseValues("--matrix", "n", text, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
