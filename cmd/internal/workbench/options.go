package workbench

import "markmill/engine/queue"

// Options configure the workbench.
type Options struct {
	Program string // path of markmill
	Version string // of markmill
	Root    string // of the repository, or a folder outside one
	Listen  string // host and port; a port of 0 is any that is free
	Role    string // of those who sign in with an address that is printed: read (also ""), run or approve
	User    string // whose program it is: the actor of every action, for a person who has signed in with a token

	Cert, Key   string   // files of TLS; "" is plain HTTP
	Hosts       []string // names under which it is reached, besides those of the certificate
	Proxies     []string // addresses and networks of a proxy that names its users
	ProxyHeader string   // in which header
	Webhook     string   // file of the secret of webhooks; "" is WebhookVariable
	Tokens      string   // file of people and their roles; "" is nobody: whoever has a printed address acts as User
	Queue       []string // options of the commands of the queue
	Connection  queue.Connection
}
