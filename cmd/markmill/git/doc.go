// Package git sets up a clone so that Git compares, merges and commits notebooks well, and is the filter and the text
// converter that Git then calls.
package git
