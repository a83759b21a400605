// Package version prints which build this is.
package version
