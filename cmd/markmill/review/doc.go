// Package review reviews the notebooks of a branch, with the judges of its base, and what a merge would give. judging
// runs the judges, mergereview the merge.
package review
