// Package workbench has the options of the workbench, and what it asks of the queue. It is apart from the workbench
// itself (cmd/markmill-server/serve/web/web) so that markmill, which reads the options, links no html/template.
package workbench
