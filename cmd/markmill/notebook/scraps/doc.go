// Package scraps prints what runs recorded, as a table.
package scraps
