// Package agent has the commands for coding agents: the guide that they read, which are admitted in markmill.yaml and
// can be used here, what they cost, and (summary) what is proven of them.
package agent
