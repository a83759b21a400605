// Package alerts has the commands for alerts: what was told to whom, and what is muted.
package alerts
