// Package new writes a notebook to start from, of a kind, from the templates in this folder. It never replaces a file.
package new
