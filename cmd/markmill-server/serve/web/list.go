package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/list"
	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/index"
)

// listLength is how many runs a page of the list has.
const listLength = 50

// listBody is the data of the list of runs.
type listBody struct {
	Query          url.Values
	Statuses       []runs.Status
	Items          []index.Item
	Params, Scraps []string // names of the columns
	From, Count    int      // number of the first, and of all that match
	Earlier, Later string   // addresses of the neighboring pages; "" is none
	Problem        string   // with the filter
}

// Has reports whether a value is chosen in the filter.
func (b *listBody) Has(name, value string) bool { return slices.Contains(b.Query[name], value) }

// Until is the number of the last run on the page.
func (b *listBody) Until() int { return b.From + len(b.Items) - 1 }

// Value is the value of a column of one run.
func (b *listBody) Value(values map[string]codec.Raw, name string) codec.Raw { return values[name] }

func (s *server) list(w http.ResponseWriter, r *http.Request) error {
	body := &listBody{Query: r.URL.Query(), Statuses: list.Statuses}
	f, skip, err := filterOf(body.Query, time.Now())
	if err != nil {
		body.Problem = err.Error()
		return s.page(w, r, "list", "Runs", body)
	}
	f.Given = true
	err = s.ask(r.Context(), func(x *index.Index) (err error) {
		if body.Count, err = x.Count(f); err == nil {
			body.Items, err = x.List(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	body.Params, body.Scraps = f.Columns()
	body.From = skip + 1
	if skip > 0 {
		body.Later = pageAddress(r.URL, max(0, skip-listLength))
	}
	if skip+len(body.Items) < body.Count {
		body.Earlier = pageAddress(r.URL, skip+listLength)
	}
	return s.page(w, r, "list", "Runs", body)
}

// pageAddress is the address of the page that begins after so many runs.
func pageAddress(at *url.URL, skip int) string {
	q := at.Query()
	q.Set("skip", strconv.Itoa(skip))
	return at.Path + "?" + q.Encode()
}

// filterOf reads the fields of the list's form.
func filterOf(q url.Values, now time.Time) (f index.Filter, skip int, err error) {
	f = index.Filter{Notebook: strings.TrimSpace(q.Get("notebook")), Limit: listLength}
	if text := q.Get("skip"); text != "" {
		if skip, err = strconv.Atoi(text); err != nil || skip < 0 {
			return f, 0, problem("%q is no number of runs", text)
		}
		f.Skip = skip
	}
	for _, word := range q["status"] {
		if !slices.Contains(list.Statuses, runs.Status(word)) {
			return f, 0, problem("%q is no status", word)
		}
		f.Statuses = append(f.Statuses, runs.Status(word))
	}
	if f.Since, err = program.TimeOption("since", strings.TrimSpace(q.Get("since")), now); err != nil {
		return f, 0, err
	}
	for _, field := range []struct {
		name string
		to   *[]index.Condition
	}{{"param", &f.Params}, {"scrap", &f.Scraps}} {
		for _, line := range q[field.name] {
			for text := range strings.SplitSeq(line, ",") {
				if text = strings.TrimSpace(text); text == "" {
					continue
				}
				c, err := index.ParseCondition(text)
				if err != nil {
					return f, 0, err
				}
				*field.to = append(*field.to, c)
			}
		}
	}
	if text := strings.TrimSpace(q.Get("sort")); text != "" {
		key, err := index.ParseKey(text)
		if err != nil {
			return f, 0, err
		}
		f.Sort = []index.Key{key}
	}
	return f, skip, nil
}
