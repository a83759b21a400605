// Package schedule says when a notebook is due: the cron expressions of schedule: in a front matter, and the words that
// stand for a due time in its parameters and its output.
//
// What always holds: everything follows from the expression, a time zone and a time that is handed in. The package
// reads no clock and no disk.
package schedule
