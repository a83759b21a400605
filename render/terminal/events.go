package terminal

import (
	"io"
	"strconv"

	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/runs"
)

// Events prints the events of a journal, one a line: number, time since the first, type, step and status.
func Events(w io.Writer, events []runs.Event, color bool) error {
	var t table
	t.header("SEQ", "AFTER", "EVENT", "STEP", "STATUS")
	for _, e := range events {
		var d struct {
			Status string `json:"status"`
		}
		if codec.Unmarshal(e.Data, &d) != nil {
			d.Status = "" // an event without a status, or of another shape
		}
		t.add(cell{strconv.Itoa(e.Seq), ""}, cell{render.Duration(e.Time.Sub(events[0].Time)), dim},
			cell{string(e.Type), ""}, cell{shown(string(e.Step)), ""}, cell{shown(d.Status), statusColor(runs.Status(d.Status))})
	}
	return t.write(w, "", color)
}
