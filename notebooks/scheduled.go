package notebooks

// Schedule is schedule: of the front matter: when a notebook is due, and how it runs then.
type Schedule struct {
	Cron     string
	Timezone string // of the IANA database
	Params   string // YAML, names and values; words such as {{date}} stand for the due time
	Output   string // relative to the repository; "" is the record alone
	Overlap  string // OverlapSkip, OverlapQueue, OverlapCancel
	CatchUp  string // CatchUpOnce, CatchUpNone
	Commit   string // the branch that the output is committed to; "" is none

	At map[string]Place // of each key's value; empty where a text alone says when
}

// What becomes of a due time while the run of an earlier one goes on.
const (
	OverlapSkip   = "skip"   // nothing
	OverlapQueue  = "queue"  // it runs after that
	OverlapCancel = "cancel" // that run is ended first
)

// What becomes of due times that passed while nobody looked.
const (
	CatchUpOnce = "once" // the newest of them runs
	CatchUpNone = "none" // nothing
)
