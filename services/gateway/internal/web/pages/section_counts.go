package pages

import (
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// SectionCount counts the objects of a section that need a person.
type SectionCount struct {
	Number string
	// Class is the state of the objects, and Text says in words what they need.
	Class, Text string
}

// SectionCountCalls are the rpcs of SectionCounts.
var SectionCountCalls = []string{
	orchv1.FlowRunService_ReadFlowRuns_FullMethodName, orchv1.WorkPoolService_ReadWorkPools_FullMethodName, orchv1.WebhookService_ReadWebhooks_FullMethodName,
}

// SectionCounts returns what needs a person by the path of its section: runs that wait for an input, pools without a worker, and
// webhooks that fail or are silent. Sections that need nobody are absent. The counts may be some seconds old.
func SectionCounts(r *page.Request) map[string]SectionCount {
	s := newAttentionSources(countedFor)
	_ = r.Call(s.paused, s.late, s.pools, s.webhooks) // The counts of failed calls are absent.
	counts := map[string]SectionCount{}
	for _, c := range []struct {
		section   string
		lines     []attention
		one, many string
	}{
		{"/runs", s.waitingRuns(r), "run waits for an answer", "runs wait for an answer"},
		{"/work-pools", s.poolsWithoutWorker(r), "pool has no worker", "pools have no worker"},
		{"/webhooks", s.unhealthyWebhooks(r), "webhook fails or is silent", "webhooks fail or are silent"},
	} {
		if n := int64(len(c.lines)); n > 0 {
			class := c.lines[0].Class
			if slices.ContainsFunc(c.lines, func(line attention) bool { return line.Class == "failed" }) {
				class = "failed"
			}
			counts[c.section] = SectionCount{Number: show.Count(n), Class: class, Text: show.Plural(n, c.one, c.many)}
		}
	}
	return counts
}
