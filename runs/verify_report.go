package runs

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"markmill/notebooks/codec"
)

// report compares report.json, member by member, with the report that the journal and the files give now. A member that
// is in it twice, or that the record does not give, is a finding.
func (c *check) report() {
	text, err := c.record.ReadFile(ReportFile)
	if errors.Is(err, fs.ErrNotExist) {
		return // required has found it
	}
	var there, want map[string]codec.Raw
	if err == nil {
		err = codec.Unmarshal(text, &there)
	}
	if err != nil {
		c.v.find(ReportFile, "cannot be read: %s", cause(err))
		return
	}
	fresh, err := c.record.Report(c.v.Run, nil)
	if err == nil {
		want, err = membersOf(fresh)
	}
	if err != nil {
		c.v.find(ReportFile, "cannot be recomputed: %s", words(err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, found := there[name]
		switch {
		case !found:
			c.v.find(ReportFile, "%s is missing", name)
		case !codec.Same(value, want[name]):
			c.v.find(ReportFile, "%s is %s and the record gives %s", name, clip(value), clip(want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if _, known := want[name]; !known {
			c.v.find(ReportFile, "%q is no member of the report that the record gives", name)
		}
	}
	for _, path := range fresh.Freshness.Stale {
		c.v.find(path, "was there before the run started")
	}
}

func membersOf(v any) (map[string]codec.Raw, error) {
	text, err := codec.Marshal(v)
	if err != nil {
		return nil, err
	}
	var members map[string]codec.Raw
	return members, codec.Unmarshal(text, &members)
}

// clip shortens a value for a message.
func clip(value codec.Raw) string {
	const most = 80
	if len(value) <= most {
		return string(value)
	}
	return string(bytes.ToValidUTF8(value[:most], nil)) + "…"
}
