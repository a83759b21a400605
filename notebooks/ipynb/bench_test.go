package ipynb

import (
	"fmt"
	"strings"
	"testing"
)

// large returns a notebook of about 20 MB, mostly pictures and logs.
func large() []byte {
	var b strings.Builder
	b.WriteString("{\n \"cells\": [\n")
	picture := strings.Repeat(strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA/+9x", 3)+`\n`, 600)
	for i := range 200 {
		fmt.Fprintf(&b, "  {\"cell_type\": \"code\", \"id\": \"c%d\", \"execution_count\": %d, \"metadata\": "+
			"{\"collapsed\": true},\n   \"outputs\": [\n", i, i)
		fmt.Fprintf(&b, "    {\"output_type\": \"display_data\", \"metadata\": {}, "+
			"\"data\": {\"image/png\": \"%s\"}},\n",
			picture)
		b.WriteString("    {\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\n")
		for j := range 1000 {
			fmt.Fprintf(&b, "     \"line %d of the log \\\"é\\\" 0.%d\\n\",\n", j, j*j)
		}
		b.WriteString("     \"\"]}],\n   \"source\": [\"x\"]},\n")
	}
	b.WriteString("  {\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": []}],\n" +
		" \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}\n")
	return []byte(b.String())
}

func BenchmarkStrip(b *testing.B) {
	src := large()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		nb, err := Parse("n", src)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (Strip{}).Apply(nb); err != nil {
			b.Fatal(err)
		}
	}
}
