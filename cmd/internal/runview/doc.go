// Package runview is a run as commands print it: the document of --json, its record with the decisions of people, and
// its output notebook in a form or as a page. It reads records and writes none.
package runview
