package notebooks

import "time"

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
