// Package remote reads and writes whole notebooks at addresses: s3://, gs://, az:// (and papermill's abs://), http://
// and https://.
//
// It owns the syntax of addresses, the sources of credentials (the environment variables and files of the services' own
// tools), timeouts and retries, and the messages of failures. Invariants: no message and no name of an address contains
// a credential; the network is used only for an address that the caller gave; reads are limited in bytes, and
// everything is limited in time.
//
// Requests use net/http: each service needs three, and a service's client library slows down every start and the first
// build (docs/performance.md). Signatures and sources of credentials are those of aws-sdk-go-v2 and
// golang.org/x/oauth2. Nothing else of the module imports them, and this package imports nothing of the module except
// notebooks and its JSON codec.
package remote
