package params

import (
	"reflect"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// TestGivenAsJSON checks that values bind the same after a round trip through JSON, whatever type is declared.
func TestGivenAsJSON(t *testing.T) {
	const text = "a: 017\nb: &x [yes, 2024-01-02, 1.50]\nc: *x\nd: {k: ~, n: 12345678901234567890123}\n" +
		"e: !!binary aGk=\nf: \"017\"\n"
	given, err := ParseGiven("-f", "p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	secret := notebooks.Value{Type: notebooks.TypeSecret, Text: "hunter2"}
	given = append(given, Given{Name: "g", Text: "3s", Source: "-p"},
		Given{Name: "h", Text: "x", Raw: true, Source: "-r"},
		Given{Name: "i", Value: &secret, Source: "program"})
	b, err := codec.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	var sent []Given
	if err := codec.Unmarshal(b, &sent); err != nil {
		t.Fatal(err)
	}
	for _, declared := range []notebooks.Type{notebooks.TypeAny, notebooks.TypeString, notebooks.TypeList,
		notebooks.TypeMap, notebooks.TypeInt, notebooks.TypeDuration} {
		for i := range given {
			params := []notebooks.Param{{Name: given[i].Name, Type: declared, Required: true}}
			want, wantErr := Bind("n.md", params, given[i:i+1], Options{})
			got, gotErr := Bind("n.md", params, sent[i:i+1], Options{})
			if !reflect.DeepEqual(got, want) || errorText(gotErr) != errorText(wantErr) {
				t.Errorf("%s as %s: %+v, %v; before it was sent %+v, %v", given[i].Name,
					declared, got, gotErr, want, wantErr)
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
