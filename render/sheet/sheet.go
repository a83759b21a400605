package sheet

import (
	"slices"
	"strconv"

	"markmill/notebooks/codec"
	"markmill/render/documents"
	"markmill/runs"
)

// Options say what a sheet holds.
type Options struct {
	Long   bool                   // a row a scrap, else a row a notebook
	Params bool                   // parameters are columns
	Keep   func(name string) bool // the scraps that are wanted; nil wants all
}

// Sheet is a table. A cell that is nil or null is empty.
type Sheet struct {
	Columns []string
	Rows    [][]codec.Raw
	// Left is how many tables, pictures, files and values of unknown encoders have no place in the rows of notebooks.
	Left int
}

// The columns that are always there. Those of a long sheet follow the parameters.
var (
	first = []string{"notebook", "run", "status"}
	long  = []string{"step", "name", "type", "value"}
)

// New makes a sheet of notebooks, in their order.
func New(list []*documents.Recorded, o Options) *Sheet {
	s := &Sheet{}
	names := newNames(list, o, s)
	s.Columns = names.columns
	for _, r := range list {
		row := make([]codec.Raw, len(s.Columns))
		row[0], row[1], row[2] = text(r.Name), text(r.Run), text(r.Status)
		if o.Params {
			for _, p := range r.Params {
				row[names.params[p.Name]] = p.Value
			}
		}
		if !o.Long {
			for i := range r.Scraps {
				if at, ok := names.scraps[r.Scraps[i].Name]; ok && scalar(&r.Scraps[i]) {
					row[at] = r.Scraps[i].Value
				}
			}
			s.Rows = append(s.Rows, row)
			continue
		}
		for i := range r.Scraps {
			if !o.keeps(r.Scraps[i].Name) {
				continue
			}
			one := slices.Clone(row)
			copy(one[len(one)-len(long):], longCells(&r.Scraps[i]))
			s.Rows = append(s.Rows, one)
		}
	}
	return s
}

func (o Options) keeps(name string) bool { return o.Keep == nil || o.Keep(name) }

// scalar says whether a scrap has a value that stands in one cell.
func scalar(s *documents.StepScrap) bool {
	return s.Opaque == "" && (s.Type == runs.ScrapText || s.Type == runs.ScrapJSON)
}

func longCells(s *documents.StepScrap) []codec.Raw {
	kind, value := s.Type, s.Value
	switch {
	case s.Opaque != "":
		kind, value = "opaque", text(s.Opaque)
	case s.Digest != "":
		value = text(string(s.Digest))
	}
	return []codec.Raw{text(s.Step), text(s.Name), text(kind), value}
}

// text is a text as JSON; nil where it is empty.
func text(s string) codec.Raw {
	if s == "" {
		return nil
	}
	raw, err := codec.Marshal(s)
	if err != nil { // a file's name that is not UTF-8
		raw, _ = codec.Marshal(strconv.QuoteToASCII(s))
	}
	return raw
}

// names are the columns of parameters and scraps.
type names struct {
	columns        []string
	params, scraps map[string]int
}

// newNames names the columns: a scrap by its name, a parameter by its name too, unless a scrap or a column of ours has it. Then it is
// params.NAME, as in the expressions of if=.
func newNames(list []*documents.Recorded, o Options, s *Sheet) names {
	n := names{params: map[string]int{}, scraps: map[string]int{}}
	var params, scraps []string
	for _, r := range list {
		if o.Params {
			for _, p := range r.Params {
				if _, known := n.params[p.Name]; !known {
					n.params[p.Name] = 0
					params = append(params, p.Name)
				}
			}
		}
		for i := range r.Scraps {
			sc := &r.Scraps[i]
			if o.Long || !o.keeps(sc.Name) {
				continue
			}
			if !scalar(sc) {
				s.Left++
				continue
			}
			if _, known := n.scraps[sc.Name]; !known {
				n.scraps[sc.Name] = 0
				scraps = append(scraps, sc.Name)
			}
		}
	}
	own := slices.Clone(first)
	if o.Long {
		own = append(own, long...)
	}
	n.columns = slices.Clone(first)
	taken := map[string]bool{}
	for _, name := range own {
		taken[name] = true
	}
	place := func(name, prefix string, reserved bool) int {
		if reserved || taken[name] {
			name = prefix + name
		}
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		n.columns = append(n.columns, name)
		return len(n.columns) - 1
	}
	for _, name := range params {
		_, scrap := n.scraps[name]
		n.params[name] = place(name, "params.", scrap)
	}
	for _, name := range scraps {
		n.scraps[name] = place(name, "scraps.", false)
	}
	if o.Long {
		n.columns = append(n.columns, long...)
	}
	return n
}
