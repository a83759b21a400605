// Package list lists runs, and answers questions to their index: filters, SQL, figures.
package list
