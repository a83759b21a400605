package jupyter

import (
	"strings"
	"testing"

	"markmill/notebooks/ipynb"
)

func TestJupyterTextSaysWhatMatters(t *testing.T) {
	const src = `{"cells":[
{"cell_type":"markdown","id":"x","metadata":{"collapsed":true,"slideshow":{"b":1,` +
		`"a":2}},"source":["# T\n","\n","text"]},
{"cell_type":"code","id":"y","metadata":{"tags":["a"],"papermill":{"duration":1.5}},"execution_count":7,` +
		`"source":"x\u202e = 1","outputs":[
 {"output_type":"stream","name":"stderr","text":["50%\r100%\n","\u001b[31mred\u001b[0m <f at 0x7f0011223344>\n"]},
 {"output_type":"execute_result","execution_count":7,"metadata":{},"data":{"text/html":"<b>1</b>",` +
		`"text/plain":["1\n","2"],"image/png":"AAAA\n","application/json":{"b":1.50,"a":[]}}},
 {"output_type":"display_data","metadata":{},"data":{"text/html":"<b>only</b>"}},
 {"output_type":"error","ename":"E","evalue":"two\nlines","traceback":["\u001b[0;31mE\u001b[0m\nat 0x7f0011223344"]}]},
{"cell_type":"raw","source":""}
],"metadata":{"kernelspec":{"name":"python3"},"nan":[NaN],"language_info":{"version":"3"}},` +
		`"nbformat":4,"nbformat_minor":5}`
	const want = `metadata.kernelspec: {"name":"python3"}
metadata.nan: [NaN]

## markdown cell
metadata.slideshow: {"a":2,"b":1}

# T

text

## code cell
metadata.tags: ["a"]

x\u202e = 1

### output stream stderr

100%
red <f at <address>>

### output execute_result
text/html

1
2
image/png: 5 characters, sha256 4677942dfa3e
application/json: {"a":[],"b":1.50}

### output display_data

<b>only</b>

### output error

E: two lines
E
at <address>

## raw cell
`
	nb, err := ipynb.Parse("n", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Text(nb)); got != want {
		t.Errorf("got\n%s", got)
	}
	// A rerun's changes without new information do not show.
	other := strings.NewReplacer(`"execution_count":7`, `"execution_count":8`, "0x7f0011223344", "0x7f99aabbccdd",
		`"id":"x"`, `"id":"z"`, "1.5}", "2.5}",
		`"version":"3"`, `"version":"4"`, `"collapsed":true`, `"collapsed":false`).Replace(src)
	nb, err = ipynb.Parse("n", []byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Text(nb)); got != want {
		t.Errorf("noise shows:\n%s", got)
	}
}
