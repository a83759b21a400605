package notebooks

import (
	"time"
)

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

// Alerts say who is told of what a run finds.
type Alerts struct {
	On []string // words of AlertWords, and expressions
	To []string // names of targets of markmill.yaml
	By []string // parameters whose values tell the states apart
}

// AlertWords are what alerts: on: has besides expressions.
var AlertWords = []string{AlertFail, AlertWarn, AlertCritical, AlertRecover}

// What an alert is for.
const (
	AlertFail     = "fail"     // a run does not pass
	AlertWarn     = "warn"     // a check is warn
	AlertCritical = "critical" // a check is critical, or does not work
	AlertRecover  = "recover"  // what was bad is good again
)

// Objectives are what the runs of a notebook, and its checks, are to reach within a window that ends now.
type Objectives struct {
	Uptime float64       // percent of the known time in which the state is good; 0 is none
	P95    time.Duration // that 95 % of the runs do not exceed; 0 is none
	Window time.Duration
}

// DefaultWindow is that of objectives which name none.
const DefaultWindow = 30 * 24 * time.Hour
