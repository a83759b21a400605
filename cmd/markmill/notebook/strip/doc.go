// Package strip removes the outputs of notebooks.
package strip
