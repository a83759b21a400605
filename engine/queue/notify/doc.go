// Package notify sends an alert to a target of markmill.yaml: as JSON to a webhook, as text to Slack, as mail, or to a
// program.
//
// What always holds: one call of Send is one attempt, bounded in time. The caller retries, because each attempt must be
// in the outbox before the next one; a client that retries (hashicorp/go-retryablehttp) would not do. No error contains
// an address, a part of one, or more of a receiver's answer than its status. Redirects are not followed: they would
// send the alert to a receiver that the settings do not name.
//
// It imports no package of Markmill besides engine, engine/queue, notebooks and notebooks/….
package notify
