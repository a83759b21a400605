package queue

import "time"

// Attendance is a worker with how long it has been silent by the clock of the server, to which the clocks of those who
// ask and of the workers do not matter.
type Attendance struct {
	Worker
	Silent time.Duration `json:"silent_ns"`
}

// slack is what a worker may be late with saying that it is there: it looks every second whether it is time.
const slack = 2 * time.Second

// Gone reports whether the leases of the worker are over: it has ended, or was silent for longer than they last.
func (a *Attendance) Gone() bool {
	return a.Ended || a.LeaseNS > 0 && a.Silent > time.Duration(a.LeaseNS)+slack
}

// Leased reports whether a worker has the job, or had it until its lease expired.
func (s State) Leased() bool { return s == StateLeased || s == StateRunning }

// Expired reports whether the lease of a job is over, and no other worker has taken the job yet.
func (j *Job) Expired(workers []Attendance) bool {
	if !j.State.Leased() {
		return false
	}
	for i := range workers {
		if workers[i].Name == j.Worker {
			return workers[i].Gone()
		}
	}
	return true // it has not been heard of for a day
}
