// Package broker carries events between the services on NATS JetStream, at least once, in order within a workspace.
//
//	Publish ─┐                                  stream EVENTS (interest, discard new, flushed before the ack)
//	Publish ─┼─> committer of the shard ──frame──> events.<shard> ──┬─> durable "persist"  ─> Consume
//	Publish ─┘     (one frame in flight)                            ├─> durable …          ─> Consume
//	   ^                    │                                       └─> ephemeral          ─> Subscribe
//	   └── released by ─────┘                                                 │
//	       the frame's ack                     stream DLQ <── events that a consumer rejected
//
// # Frames
//
// JetStream flushes once per message, which would make the disk the limit. So one goroutine per shard, the committer,
// gathers the events that wait in this process into one message: a CloudEvents JSON batch of at most 256 events and
// 512 KiB (a larger event travels alone). It does not wait for more events: a frame has the events that queued up while
// the last frame was in flight, so a lone event is not delayed. The acknowledgement of a frame releases all its publishers.
//
// A frame has one id for all its attempts (Nats-Msg-Id), so sending an unanswered frame again stores it once. When no
// acknowledgement comes in time, its publishers get ErrUnavailable, and the events may be stored all the same: delivery
// is at least once, and consumers de-duplicate by an event's id and workspace.
//
// # Settings that Connect checks
//
// Connect refuses a broker that would break the promise "acknowledged means stored":
//   - sync_interval must be "always", read from the servers' own JetStream settings (see sync.go);
//   - max_payload must be at least 8 MiB;
//   - the stream must have interest retention, discard new events when it is full, and never drop by age;
//   - every durable consumer exists before the first event is published: an event without any interest is dropped.
//
// # Subjects
//
// An event goes to events.<shard>, shard = FNV-1a(workspace) mod Config.Shards. All publishers of a cluster must be
// configured with one number of shards; while it changes, order within a workspace is not kept.
//
// Beside the stream there are live feeds (Conn.Live) on live.<feed>.<workspace>: core NATS, nothing stored.
package broker
