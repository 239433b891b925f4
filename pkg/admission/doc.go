// Package admission bounds the memory, the processors and the reads that requests use, so one client leaves enough to the others.
//
//	Controller   the bounds of a process
//	  ├─ memory of bodies, in bytes, half of it for an account ── Reservation.Charge, Refund
//	  └─ processors for large work, a fair Semaphore            ── Reservation.AcquireProcessor, ReleaseProcessor
//	Semaphore    work in progress by key, such as the reads of a workspace
//
// A request is charged for a body before it is read, for decompressed bytes before they are stored, for values before they are decoded,
// and for the memory of templates. Charge never waits: a request beyond the bound fails at once, and its sender tries again.
//
// Large work processes a compressed body, or one of more than LargeBody bytes. Calls that compute more than they read are large work
// too. Large work uses half of the processors; large work of unauthenticated clients uses one. The others stay free for small requests.
//
// A request acquires its resources in this order, and has nothing of a later step while it waits for an earlier one:
//
//  1. memory: no wait
//  2. the workspace's large requests in progress (gateway): held until the response
//  3. a processor: held without waiting for a client, a broker or another service
//  4. the workspace's reads (orchestration): held during a command of the database
//
// So no two requests wait for each other, because the holder of a step waits for later steps only. A read waits for none. Each wait has
// a time limit. A request acquires a processor once more only after it has released it.
package admission
