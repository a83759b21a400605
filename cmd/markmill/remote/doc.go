// Package remote reads and writes whole notebooks at addresses: s3://, gs://, az:// (and papermill's abs://), http://
// and https://.
//
// It owns what an address is, where credentials come from (the environment variables and files of the services' own
// tools), timeouts and retries, and the messages of failures. What always holds: no message and no name of an address
// contains a credential; nothing goes over the network except for an address that the caller gave; a read is limited in
// bytes, and everything in time.
//
// The libraries are those of the services, without the parts that slow down every start of the program
// (docs/performance.md): Amazon's client of S3 and sources of credentials, without the loader of its configuration;
// Azure's blob client in the last version without Arrow; for Google's storage its JSON interface over HTTP with
// golang.org/x/oauth2, because its client needs gRPC. Nothing else of the module imports them, and this package imports
// nothing of the module except notebooks and its JSON codec.
package remote
