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
	// ActionLink is the page of the action, if it differs from the page of the object.
	ActionLink string
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
		all[i].Icon, all[i].ActionLink = show.Icon(all[i].Class), cmp.Or(all[i].ActionLink, all[i].Link)
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
	lateRuns := s.lateByPool()
	var all []attention
	for _, pool := range s.pools.Result().GetWorkPools() {
		runs := lateRuns[pool.GetName()]
		if len(runs) == 0 || pool.GetIsPaused() || pool.GetStatus() != orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY {
			continue
		}
		many := s.lateText(runs)
		all = append(all, attention{
			Class: "crashed", Name: show.Line(pool.GetName(), 60), Text: "has no worker",
			Why:  many + ", the first was expected " + clockOf(r).Ago(runs[0].GetExpectedStartTime()) + ".",
			Link: r.To("work-pools", "work-pool", pool.GetName()), Action: "Start a worker",
		})
	}
	return all
}

// lateByPool returns the late runs of each work pool.
func (s attentionSources) lateByPool() map[string][]*orchv1.FlowRun {
	lateRuns := map[string][]*orchv1.FlowRun{}
	for _, run := range s.late.Result().GetFlowRuns() {
		lateRuns[run.GetWorkPoolName()] = append(lateRuns[run.GetWorkPoolName()], run)
	}
	return lateRuns
}

// lateText counts late runs of a work pool. Beyond attentionRuns late runs there may be more.
func (s attentionSources) lateText(runs []*orchv1.FlowRun) string {
	many := show.Plural(int64(len(runs)), "run is late", "runs are late")
	if len(s.late.Result().GetFlowRuns()) == attentionRuns {
		many = "At least " + many
	}
	return many
}

// poolStatusLine is a work pool of the home page: whether a worker polls it, and how many runs are late.
type poolStatusLine struct {
	Name, Link string
	// Class is the state whose colour and icon the line has.
	Class  string
	Icon   markup.Markup
	Status string
	Slots  string
	Late   string
}

// maxPools is the number of work pools that the home page shows.
const maxPools = 20

// poolStatuses are the first work pools by name, those with late runs before the others.
func (s attentionSources) poolStatuses(r *page.Request) []poolStatusLine {
	lateRuns := s.lateByPool()
	pools := slices.Clone(s.pools.Result().GetWorkPools())
	slices.SortStableFunc(pools, func(a, b *orchv1.WorkPool) int {
		return cmp.Compare(len(lateRuns[b.GetName()]), len(lateRuns[a.GetName()]))
	})
	var all []poolStatusLine
	for _, pool := range pools[:min(len(pools), maxPools)] {
		line := poolStatusLine{
			Name: show.Line(pool.GetName(), 60), Link: r.To("work-pools", "work-pool", pool.GetName()), Class: "pending",
			Status: poolStatus(pool), Slots: slots(pool.GetActiveSlots(), pool.ConcurrencyLimit).Text,
		}
		runs := lateRuns[pool.GetName()]
		if len(runs) > 0 {
			line.Late = s.lateText(runs)
		}
		switch {
		case pool.GetIsPaused():
			line.Class = "paused"
		case pool.GetStatus() == orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY:
			line.Class = "completed"
		case len(runs) > 0:
			line.Class = "crashed"
		}
		line.Icon = show.Icon(line.Class)
		all = append(all, line)
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
			ActionLink: r.To("webhooks", "webhook", w.GetId(), "bench"), Why: webhookFailures(h),
		}
		if h.GetStatus() == orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_SILENT {
			line.Class, line.Text, line.Action, line.ActionLink = "late", "is silent", "See", ""
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
