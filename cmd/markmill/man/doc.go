// Package man writes the manual pages, from the commands themselves.
package man
