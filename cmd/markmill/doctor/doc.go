// Package doctor says what this machine has, what is missing and how to get it. It changes nothing.
package doctor
