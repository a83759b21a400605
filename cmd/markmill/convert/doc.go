// Package convert makes a notebook, the output of a run or a sweep another form.
package convert
