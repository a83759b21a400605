// Package agents admits coding agents to a repository: it writes what markmill.yaml says of them, and keeps every other
// byte of that file.
package agents
