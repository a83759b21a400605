package render

import (
	"bytes"
	"fmt"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/render/plain"
	"markmill/runs"
)

// ParametersRegion is the id of the region that shows the values that were injected.
const ParametersRegion = "injected-parameters"

// StatusPrepared is the status in the manifest of a notebook that was prepared and not run.
const StatusPrepared = "prepared"

// Prepared returns the source with the values that a run would inject, each shown after the block that declares it:
// what --prepare-only writes, in the form that is asked for. given are the values that were given; output is the path
// of OUTPUT as the notebook names it, see OutputPath, or nil; report folds the code.
func Prepared(form notebooks.Form, nb *notebooks.Notebook, params []runs.ParamData, given []notebooks.Bound, output any, report bool) ([]byte, error) {
	if form == ipynb.Form {
		return jupyterPrepared(nb, params, given, output, report)
	}
	nb, err := asMarkdown(nb)
	if err != nil {
		return nil, err
	}
	regions, err := parameterRegions(nb, params, nil)
	if err != nil {
		return nil, err
	}
	return notebooks.Splice(nb.Source, regions, notebooks.Manifest{
		Format: notebooks.ManifestFormat, Status: StatusPrepared, Parameters: manifestParams(params, nil), ReportMode: report,
	}), nil
}

// parameterRegions returns the region after the parameters block, or none: where every value is the
// notebook's own default there is nothing to show, and without a block there is no place.
func parameterRegions(nb *notebooks.Notebook, params []runs.ParamData, names pathNames) ([]notebooks.Region, error) {
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
		fmt.Fprintf(&text, "%s: %s\n", plainKey(p.Name, name), plain.EscapeJSON(string(shownValue(p, names))))
	}
	if given == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<details><summary>parameters · %d of %d given</summary>\n\n", given, len(params))
	fence(&b, "yaml {.injected-parameters}", text.String())
	b.WriteString("</details>\n")
	return []notebooks.Region{{ID: ParametersRegion, At: nb.ParamsAt, Body: b.Bytes()}}, nil
}

// plainKey is a name as a YAML key: as it is where it is a plain word, else as its JSON.
func plainKey(name string, quoted []byte) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '-')) {
			return plain.EscapeJSON(string(quoted))
		}
	}
	return name
}

// shownValue is the JSON of a value that may be shown: secrets are masked, long values bounded,
// paths of this machine named.
func shownValue(p runs.ParamData, names pathNames) codec.Raw {
	switch {
	case p.Type == string(notebooks.TypeSecret):
		return codec.Raw(`"***"`)
	case len(p.Value) == 0:
		return codec.Raw("null")
	case len(p.Value) > maxScrap:
		return codec.Raw(fmt.Sprintf(`"… %s"`, plain.Counted(len(p.Value), "byte")))
	}
	return codec.Raw(names.replace(string(p.Value)))
}

// ShownValue is the JSON of a parameter's value as a person may see it: a secret is masked, a long
// value bounded.
func ShownValue(p runs.ParamData) codec.Raw { return shownValue(p, nil) }

func manifestParams(params []runs.ParamData, names pathNames) []notebooks.ManifestParam {
	out := make([]notebooks.ManifestParam, len(params))
	for i, p := range params {
		out[i] = notebooks.ManifestParam{Name: p.Name, Value: shownValue(p, names), Given: p.Given}
	}
	return out
}
