package pages

import (
	"cmp"
	"slices"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// attention is a line of the attention list: an object that needs a person, the reason, and the action that helps.
type attention struct {
	// Class is the state whose colour and icon the line has.
	Class string
	Icon  markup.Markup
	// Name links to the object. Text says what the object needs, and Why gives the reason.
	Name, Text, Why string
	Link, Action    string
}

const (
	// maxAttention is the number of lines that the home page shows.
	maxAttention = 5
	// attentionRuns is the number of paused and of late runs that the home page reads.
	attentionRuns = 50
	// countedFor is the time for which readers share the counts of the navigation, and the oldest dead letter.
	countedFor = 5 * time.Second
)

// attentionCalls are the rpcs of the attention list.
var attentionCalls = []string{
	orchv1.FlowRunService_ReadFlowRuns_FullMethodName,
	orchv1.WorkPoolService_ReadWorkPools_FullMethodName,
	orchv1.WebhookService_ReadWebhooks_FullMethodName,
	readDeadLetters,
}

// attentionSources are the calls behind the attention list. The lines of a call that fails are absent.
type attentionSources struct {
	paused, late *apicall.Unary[*orchv1.FlowRunList]
	pools        *apicall.Unary[*orchv1.WorkPoolList]
	webhooks     *apicall.Unary[*orchv1.WebhookList]
	deadLetters  *apicall.Unary[*orchv1.DeadLetterList]
}

// newAttentionSources returns the calls, whose answers readers of a workspace share for a time at least.
func newAttentionSources(least time.Duration) attentionSources {
	runs := func(state apicall.JSON) *apicall.Unary[*orchv1.FlowRunList] {
		return apicall.NewSharedFor[*orchv1.FlowRunList](least, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: apicall.JSON{
			"flow_runs": apicall.JSON{"state": state}, "sort": "EXPECTED_START_TIME_ASC", "limit": attentionRuns,
		}})
	}
	return attentionSources{
		paused:      runs(apicall.JSON{"type": any_([]string{"PAUSED"})}),
		late:        runs(apicall.JSON{"name": any_([]string{"Late"})}),
		pools:       apicall.NewSharedFor[*orchv1.WorkPoolList](least, orchv1.WorkPoolService_ReadWorkPools_FullMethodName, apicall.Input{Body: apicall.JSON{}}),
		webhooks:    apicall.NewSharedFor[*orchv1.WebhookList](least, orchv1.WebhookService_ReadWebhooks_FullMethodName, apicall.Input{Body: apicall.JSON{}}),
		deadLetters: apicall.NewSharedFor[*orchv1.DeadLetterList](countedFor, readDeadLetters, apicall.Input{Body: apicall.JSON{"limit": 1}}),
	}
}

func (s attentionSources) calls() []apicall.Call {
	return []apicall.Call{s.paused, s.late, s.pools, s.webhooks, s.deadLetters}
}

// list returns the lines: runs that wait for an input, the soonest to expire first, then pools without a worker,
// then webhooks, then dead letters.
func (s attentionSources) list(r *page.Request) []attention {
	all := slices.Concat(s.waitingRuns(r), s.poolsWithoutWorker(r), s.unhealthyWebhooks(r), s.oldestDeadLetter(r))
	for i := range all {
		all[i].Icon = show.Icon(all[i].Class)
	}
	return all
}

// waitingRuns are the paused runs that wait for an input.
func (s attentionSources) waitingRuns(r *page.Request) []attention {
	var runs []*orchv1.FlowRun
	for _, run := range s.paused.Result().GetFlowRuns() {
		if asks(run) {
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b *orchv1.FlowRun) int {
		return cmp.Compare(a.GetState().GetStateDetails().GetPauseTimeout().GetSeconds(), b.GetState().GetStateDetails().GetPauseTimeout().GetSeconds())
	})
	var all []attention
	for _, run := range runs {
		all = append(all, attention{
			Class: "paused", Name: show.Line(run.GetName(), 60), Text: "waits for an answer", Why: pauseEnds(r, run),
			Link: r.To("runs", "flow-run", run.GetId()), Action: "Answer",
		})
	}
	return all
}

// poolsWithoutWorker are the pools that have late runs, but no worker that runs them.
func (s attentionSources) poolsWithoutWorker(r *page.Request) []attention {
	lateRuns := map[string][]*orchv1.FlowRun{} // By work pool.
	for _, run := range s.late.Result().GetFlowRuns() {
		lateRuns[run.GetWorkPoolName()] = append(lateRuns[run.GetWorkPoolName()], run)
	}
	var all []attention
	for _, pool := range s.pools.Result().GetWorkPools() {
		runs := lateRuns[pool.GetName()]
		if len(runs) == 0 || pool.GetIsPaused() || pool.GetStatus() != orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY {
			continue
		}
		many := show.Plural(int64(len(runs)), "run is late", "runs are late")
		if len(s.late.Result().GetFlowRuns()) == attentionRuns {
			many = "At least " + many
		}
		all = append(all, attention{
			Class: "crashed", Name: show.Line(pool.GetName(), 60), Text: "has no worker",
			Why:  many + ", the first was expected " + clockOf(r).Ago(runs[0].GetExpectedStartTime()) + ".",
			Link: r.To("work-pools", "work-pool", pool.GetName()), Action: "Start a worker",
		})
	}
	return all
}

// unhealthyWebhooks are the webhooks whose requests fail or do not come.
func (s attentionSources) unhealthyWebhooks(r *page.Request) []attention {
	var all []attention
	for _, w := range s.webhooks.Result().GetWebhooks() {
		if !unhealthy(w) || !w.GetEnabled() {
			continue
		}
		h := w.GetHealth()
		line := attention{
			Class: "failed", Name: show.Line(w.GetName(), 60), Text: "fails", Link: r.To("webhooks", "webhook", w.GetId()), Action: "Mend",
			Why: webhookFailures(h),
		}
		if h.GetStatus() == orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_SILENT {
			line.Class, line.Text, line.Action = "late", "is silent", "See"
			line.Why = "Its requests stopped " + clockOf(r).Ago(h.GetSince()) + "."
		}
		all = append(all, line)
	}
	return all
}

// oldestDeadLetter is one line for all dead letters, which operators see.
func (s attentionSources) oldestDeadLetter(r *page.Request) []attention {
	var all []attention
	for _, letter := range s.deadLetters.Result().GetDeadLetters() {
		all = append(all, attention{
			Class: "failed", Name: "Dead letters", Text: "wait for a decision", Link: r.To("dead-letters"), Action: "Decide",
			Why: "The oldest failed " + clockOf(r).Ago(letter.GetFailed()) + ": " + show.Line(letter.GetReason(), 120),
		})
	}
	return all
}
