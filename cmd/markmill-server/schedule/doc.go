// Package schedule has the options of schedule serve, which submits what is due.
package schedule
