// Package merge merges three notebooks, and is Git's merge driver for them.
package merge
