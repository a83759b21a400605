// Package notify sends an alert to a target of markmill.yaml: as JSON to a webhook, as text to Slack, as mail, or to a
// program.
//
// What always holds: one call of Send is one attempt, bounded in time. Who calls tries again, because an attempt must
// be in the outbox before the next one; so this package needs no client that retries (hashicorp/go-retryablehttp). No
// error has an address, a part of one, or what a receiver has answered besides its status. Redirects are not followed:
// they would give the alert to somebody that the settings do not name.
//
// It imports no package of Markmill besides engine, engine/queue, notebooks and notebooks/….
package notify
