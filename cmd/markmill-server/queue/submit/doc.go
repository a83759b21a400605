// Package submit hands a notebook to the queue. It links no NATS, since markmill has the same words.
package submit
