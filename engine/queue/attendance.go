package queue

import "time"

// Attendance is a worker and the time since its last message, by the server's clock: those of the workers and of the
// caller do not matter.
type Attendance struct {
	Worker
	Silent time.Duration `json:"silent_ns"`
}

// slack is how late a worker's message may be: it checks every second whether one is due.
const slack = 2 * time.Second

// Gone reports whether the leases of the worker have expired: it has ended, or was silent for longer than they last.
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
