// Package jetstream keeps the jobs of a queue in NATS JetStream: in a server of this process, whose files are in a
// folder and which other processes of the machine reach (local.go), or in one that an address names.
//
//	MARKMILL_JOBS    mm.q.QUEUE.PRIORITY.LABELS.JOB  work queue; a message wakes a worker up, and is what it leases
//	MARKMILL_EVENTS  mm.ev.JOB                 entries; each is published with the sequence of the one before it
//	MARKMILL_CONTROL mm.ctl.JOB                last value: somebody wants the job to end
//	MARKMILL_STATE   mm.job.STATE.QUEUE.JOB    index of the jobs, which follows the entries
//	                 mm.dep.OTHER.JOB          the job is held by the other one
//	                 mm.pause.QUEUE            no job of the queue is taken
//	                 mm.one.KEY                the last job of a singleton
//	                 mm.labels.QUEUE.LABELS    sets of labels that a job needed
//	                 mm.worker.NAME            what a worker says of itself
//	MARKMILL_FILES   mm.cas.SHA256             parts of files, mm.base.COMMIT base commits; written once
//	MARKMILL_ALERTS  mm.alert.series.KEY       what is known of a notebook's runs, with the alerts of the last one
//	                 mm.alert.out.ALERT        an alert, and what became of it
//	                 mm.alert.mute.KEY         alerts that are not sent for a time
//	                 mm.steer.JOB              what the agent of a job is told, and its answer, not stored
//	                 mm.hb.JOB                 heartbeats of the worker that has the job, not stored
//	                 mm.news.QUEUE             the queue was paused or unpaused, not stored
//
// What always holds: the entries are the truth, and a message of MARKMILL_JOBS is only a wake-up. Leases are not
// fenced, and a server that starts again forgets their times; so a worker publishes every entry with the sequence
// that it saw last, and one that has lost its job is refused. It acknowledges a wake-up only after an entry that ends
// the job.
//
// Files of more than a part are in a FileStore instead, if there is one; entries never are.
//
// Queues, leases, redelivery and locks are JetStream's and the system's. No other package may import NATS.
package jetstream
