package liveness

import (
	"fmt"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxPid bounds the infrastructure's name in a message, in bytes.
const maxPid = 200

// silenceMessage returns the message of the state of a run without heartbeats: what was last heard, from whom, and when.
func (w *watch) silenceMessage(t timeouts) func(*orchv1.FlowRun) string {
	return func(run *orchv1.FlowRun) string {
		var from []string
		if w.beat.sender != "" {
			from = append(from, "from "+w.beat.sender)
		}
		return fmt.Sprintf("The last heartbeat was received at %s%s, and %d intervals of %s have passed without another one. "+
			"The process of the run or its host has ended, or cannot reach the server.",
			w.beat.received.UTC().Format(time.RFC3339), source(run, from...), t.missed, w.interval(t))
	}
}

// pendingMessage returns the message of the state of a run that stayed pending.
func (w *watch) pendingMessage(t timeouts) func(*orchv1.FlowRun) string {
	return func(run *orchv1.FlowRun) string {
		return fmt.Sprintf("The run was in the state %q since %s%s, longer than its pending timeout of %s.",
			run.GetState().GetName(), w.entered.UTC().Format(time.RFC3339), source(run), t.pending)
	}
}

// source returns where a run executes, with what else is known about it.
func source(run *orchv1.FlowRun, known ...string) string {
	if pool := run.GetWorkPoolName(); pool != "" {
		known = append(known, fmt.Sprintf("in work pool %q", pool))
	}
	if pid := run.GetInfrastructurePid(); pid != "" {
		known = append(known, fmt.Sprintf("on infrastructure %q", pid[:min(len(pid), maxPid)]))
	}
	if len(known) == 0 {
		return ""
	}
	return " " + strings.Join(known, " ")
}
