// Package health says how checks and runs do: their latest state, a digest of a time, service levels; and has alerts.
// It only reads records.
package health
