// Package schedules finds the scheduled notebooks of a repository, and keeps what is known of each in the store.
//
// What always holds: a state is read and written under a lock and replaced as a whole, so that two processes never act
// on the same due time, and a kill leaves the state before or after a change.
package schedules
