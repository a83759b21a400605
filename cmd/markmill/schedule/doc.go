// Package schedule has the commands of scheduled notebooks: which are due, run them, pause and resume, units of the
// system. Which due time runs is decided by engine/schedule.
package schedule
