package main

// An adversity is a kind of failure, with the scenarios about it.
type adversity struct {
	kind      string
	scenarios []string
}

// adversities groups the catalogue for a reader who asks what a lock survives. A scenario in which several things go wrong is in the
// group where a reader would look for it. The simplest scenario of a group comes first.
var adversities = []adversity{
	{"pauses", []string{
		"pause-in-acquire", "client-time-pause", "pause-after-acquire", "pause-after-check", "read-modify-write", "efficiency",
		"pause-fenced", "fence-zombie-first", "fence-much-later", "token-in-name", "token-check-and-set", "fence-or-check-and-set",
	}},
	{"clocks", []string{
		"clock-offset", "clock-drift", "clock-jump", "clock-jump-back", "clock-step-vs-slew",
		"client-clock-drift", "client-clock-jump", "leap-second", "getset-skew", "client-time", "client-time-drift",
	}},
	{"crashes and restarts", []string{
		"crash-no-ttl", "crash-before-expire", "single-node-down", "long-outage", "redlock-node-by-node", "redlock-minority-down", "redlock-majority-down",
		"crash-restart-3", "crash-restart-5", "crash-restart-aof", "crash-restart-scripts",
		"delayed-restart", "delayed-restart-majority", "delayed-restart-clock",
	}},
	{"replication and failover", []string{
		"failover-lag", "failover-sentinel", "failover-cluster", "failover-clock", "failover-wait-minority",
		"wait-other-connection", "wait-refused", "split-brain", "writes-refused", "token-after-failover",
	}},
	{"network", []string{
		"slow-link", "slow-reply", "stall-after-grant", "delay-to-lock-server", "redlock-slow-acquire", "redlock-hung-node", "redlock-reply-lost",
		"redlock-partition-halves", "partition-no-ttl", "holder-cut-off", "delay-to-resource", "crash-with-write-in-flight",
	}},
	{"retries and timeouts of the client library", []string{
		"retried-set", "late-acquire", "retried-release", "acquire-cancelled", "release-cancelled", "late-clean-up", "hung-node-of-three",
	}},
	{"contention", []string{
		"redlock-calm", "redlock-contended", "expiry-herd", "lost-update",
		"release-race", "asked-while-held", "second-lease", "released-twice", "tenth-lease", "other-name", "fixed-value", "token-collision", "getset-overwrite", "repair-race",
	}},
	{"the length of the lease", []string{
		"ttl-too-short", "ttl-too-long", "two-ttls", "ttl-fraction", "born-expired",
	}},
	{"extension and renewal", []string{
		"extend", "extend-gone", "extend-late", "extend-minority", "extend-majority", "extend-other-ttl",
		"watchdog-crash", "watchdog-pause", "watchdog-zombie", "watchdog-back-late", "watchdog-late-reply", "late-renewal", "release-during-renewal",
		"held-quietly",
	}},
	{"sweeps: one fault, at each position", []string{
		"sweep-pause", "sweep-die", "sweep-delay", "sweep-delay-slow-clock", "sweep-lose", "sweep-extend-shorter", "sweep-stall", "sweep-empty", "sweep-failover",
		"sweep-drift", "sweep-stray", "sweep-jump", "sweep-client-jump", "sweep-afterwards",
	}},
}

// elsewhere is the group of scenarios that are not in the catalogue.
const elsewhere = "your own"
