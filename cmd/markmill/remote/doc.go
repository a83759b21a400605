// Package remote reads and writes whole notebooks at addresses: s3://, gs://, az:// (and papermill's abs://), http://
// and https://.
//
// It owns what an address is, where credentials come from (the environment variables and files that the services' own
// tools read), how long and how often something is tried, and what is said when it fails. What always holds: no message
// and no name of an address holds a credential; nothing goes over the network but for an address that the caller gave;
// a read is bounded in bytes, and everything in time.
//
// The libraries are those of the services, without what would make every start of the program slower
// (docs/performance.md): of Amazon's the client of S3 and the sources of credentials, not the loader of its
// configuration; Azure's blob client of the last version that does not bring Arrow along; for Google's storage its JSON
// interface over HTTP with golang.org/x/oauth2, because its client brings gRPC along. Nothing else of the module
// imports them, and this package imports nothing of the module but notebooks and its JSON codec.
package remote
