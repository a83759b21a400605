package result

import (
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// Data lists what a run wrote and Git ignores, first what was put into the checkout.
func Data(run *runs.Run) (list []notebooks.ManifestData) {
	kept, published := run.Data.Split()
	for _, f := range append(published, kept...) {
		list = append(list, notebooks.ManifestData{Path: f.Path, Bytes: f.Bytes, Digest: string(f.Digest),
			Removed: f.Removed, Published: f.Published})
	}
	return list
}

// DataRow is a file that Git ignores, in a list of what a run read and wrote.
type DataRow struct {
	Verb, Path string
	Bytes      int64
	Words      string
	// Maker is the run that made what was read, and Before how long before; "" is not known.
	Maker  runs.RunID
	Before time.Duration
}

// DataRows draws what a manifest says of the files that Git ignores: what the run read that another had made, and what
// it wrote.
func DataRows(m *notebooks.Manifest) (rows []DataRow) {
	if m.Inputs != nil {
		for _, in := range m.Inputs.Data {
			if in.Maker != "" {
				rows = append(rows, DataRow{Verb: "read", Path: in.Path, Words: "made by " + in.Maker})
			}
		}
	}
	for _, f := range m.Data {
		row := DataRow{Verb: "wrote", Path: f.Path, Bytes: f.Bytes, Words: "kept beside the record"}
		if f.Removed {
			row.Verb, row.Words = "removed", "in the checkout, too"
		} else if f.Published {
			row.Words = "in the checkout"
		}
		rows = append(rows, row)
	}
	return rows
}

// RunData is DataRows of a run: of what was read it says which run made it and how long before, and of what was
// kept whether it still is, if the record is at hand.
func RunData(run *runs.Run, record *runs.Record) (rows []DataRow) {
	if run.Data == nil {
		return nil
	}
	for _, f := range run.Data.Read {
		rows = append(rows, DataRow{"read", f.Path, f.Bytes, "made by " + f.Notebook, f.Run,
			run.StartedAt.Sub(f.Time)})
	}
	list := Data(run)
	for i, row := range DataRows(&notebooks.Manifest{Data: list}) {
		if record != nil && !list[i].Published && !record.Keeps(row.Path) {
			row.Words = "not kept here"
		}
		rows = append(rows, row)
	}
	return rows
}

// dataList names files and adds their sizes.
func dataList(files []notebooks.ManifestData) string {
	var names []string
	bytes := int64(0)
	for _, f := range files {
		name := plain.Escape(f.Path)
		if f.Removed {
			name += " (removed)"
		}
		names, bytes = append(names, name), bytes+f.Bytes
	}
	return plain.Some(names, 5) + ", " + plain.Size(bytes)
}

// ignored begins the words for what is beside the record.
const ignored = "written, and ignored by Git: "

// DataWords says what a run wrote and Git ignores: what was put into the checkout, and what is beside the record. "" if
// that is nothing.
func DataWords(list []notebooks.ManifestData) (published, kept string) {
	n := 0
	for n < len(list) && list[n].Published {
		n++
	}
	if n > 0 {
		published = "data: " + dataList(list[:n])
	}
	if n < len(list) {
		kept = ignored + dataList(list[n:])
	}
	return published, kept
}

// DataOffer says at the end of a run what it wrote and Git ignores, and how what is beside the record gets into the
// checkout, with the option that names the repository. What cannot get there is not offered.
func DataOffer(run *runs.Run, repo string) (lines []string) {
	var offered, stays []notebooks.ManifestData
	list, pattern := Data(run), ""
	kept, published := run.Data.Split()
	if len(published) > 0 {
		lines = append(lines, dataList(list[:len(published)])+", in the checkout")
	}
	conflict := slices.ContainsFunc(run.Blockers(), func(b runs.Blocker) bool {
		return b.Code == runs.CodeDataConflict // its hint says what to do
	})
	for i, f := range list[len(published):] {
		if conflict || kept[i].Left != "" {
			stays = append(stays, f)
			continue
		}
		if folder, _, deeper := strings.Cut(f.Path, "/"); len(offered) == 0 && !kept[i].Named {
			if pattern = folder; deeper {
				pattern += "/**"
			}
		}
		offered = append(offered, f)
	}
	if len(offered) > 0 {
		words := ignored + dataList(offered) + ": markmill apply --data last" + repo + " puts it into the checkout"
		if pattern != "" {
			words += "; data: [" + pattern + "] keeps it each time"
		}
		lines = append(lines, words)
	}
	if len(stays) > 0 {
		lines = append(lines, ignored+dataList(stays)+", kept beside the record")
	}
	return lines
}

// dataMarkdown is DataWords, and which notebooks made what was read, as Markdown.
func dataMarkdown(m *notebooks.Manifest) string {
	published, kept := DataWords(m.Data)
	list := []string{published, kept}
	if m.Inputs != nil {
		var made []string
		for _, in := range m.Inputs.Data {
			if in.Maker != "" {
				made = append(made, in.Path+" (made by "+in.Maker+")")
			}
		}
		if len(made) > 0 {
			list = append(list, "read: "+plain.Escape(plain.Some(made, 5)))
		}
	}
	list = slices.DeleteFunc(list, func(words string) bool { return words == "" })
	return safe.Inline(strings.Join(list, "; "))
}
