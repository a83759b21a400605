package render

import (
	"bytes"
	"fmt"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/jupyter"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// ParametersRegion is the id of the region that shows the values that were injected.
const ParametersRegion = "injected-parameters"

// Prepared renders the source with the values that a run would inject, for --prepare-only. given are the given
// values; output is the path of OUTPUT (see jupyter.OutputPath) or nil; report folds the code.
func Prepared(form notebooks.Form, nb *notebooks.Notebook, params []runs.ParamData, given []notebooks.Bound,
	output any, report bool) ([]byte, error) {
	if form == ipynb.Form {
		return jupyter.Prepared(nb, params, given, output, report)
	}
	nb, err := AsMarkdown(nb)
	if err != nil {
		return nil, err
	}
	regions, err := parameterRegions(nb, params, nil)
	if err != nil {
		return nil, err
	}
	return region.Splice(nb.Source, regions, notebooks.Manifest{
		Format: notebooks.ManifestFormat, Status: notebooks.StatusPrepared, Parameters: result.Params(params, nil),
		ReportMode: report,
	}), nil
}

// parameterRegions returns the region after the parameters block. There is none if all values are defaults, or
// without a block.
func parameterRegions(nb *notebooks.Notebook, params []runs.ParamData, names safe.Names) ([]region.Region, error) {
	if nb.ParamsAt < 0 {
		return nil, nil
	}
	given := 0
	var text bytes.Buffer
	for _, p := range params {
		if !p.Given {
			continue
		}
		given++
		name, err := codec.Marshal(p.Name)
		if err != nil {
			return nil, fmt.Errorf("render: parameter %q: %w", p.Name, err)
		}
		fmt.Fprintf(&text, "%s: %s\n", plainKey(p.Name, name), plain.EscapeJSON(string(result.ShownValue(p, names))))
	}
	if given == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<details><summary>parameters · %d of %d given</summary>\n\n", given, len(params))
	safe.Fence(&b, "yaml {.injected-parameters}", text.String())
	b.WriteString("</details>\n")
	return []region.Region{{ID: ParametersRegion, At: nb.ParamsAt, Body: b.Bytes()}}, nil
}

// plainKey formats a name as a YAML key: bare if it is a plain word, else as JSON.
func plainKey(name string, quoted []byte) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 &&
			(c >= '0' && c <= '9' || c == '-')) {
			return plain.EscapeJSON(string(quoted))
		}
	}
	return name
}
