// Package workerchannel is what services agree on about the channels of workers.
//
//	orchestration: pool is changed ─▶ live feed: its id ─▶ gateway: the channels of its workers send a snapshot
//
// The feed promises nothing: a channel that missed a change finds it at the worker's next heartbeat.
package workerchannel

// Feed is the name of the live feed that tells the ids of work pools that were changed: 16 bytes each.
const Feed = "work-pools"
