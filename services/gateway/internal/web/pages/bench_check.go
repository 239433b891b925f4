package pages

import (
	"cmp"
	"fmt"
	"slices"

	webhookrender "github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// templateCheck compares a draft with the stored filter and template over the last deliveries and the samples.
type templateCheck struct {
	// Summary is "50 requests: 46 same, 1 changed, 3 mended, 0 broken".
	Summary string
	Kind    string // Of the notice: good, info or bad.
	Rows    []checkRow
}

// checkRow is a request for which they differ.
type checkRow struct {
	Word, Class string
	Delivery    deliveryRow
	// Text is the error that is new, gone or still there.
	Text        string
	Differences []show.Difference
	rank        int
}

// The classes of a compared request.
const (
	checkBroken = iota
	checkFailing
	checkMended
	checkChanged
	checkSame
	checkUnknown
)

var (
	checkWords   = []string{"broken", "still failing", "mended", "changed", "same", "not compared"}
	checkClasses = []string{"failed", "crashed", "completed", "running", "cancelled", "pending"}
)

// checkDraft tries requests with the stored filter and template and with a draft at once.
func checkDraft(r *page.Request, webhook string, before, after draft, requests []benchRequest) *templateCheck {
	var calls []apicall.Call
	olds, news := make([]*apicall.Unary[*orchv1.WebhookRendering], len(requests)), make([]*apicall.Unary[*orchv1.WebhookRendering], len(requests))
	for i, one := range requests {
		olds[i], news[i] = render(webhook, before, one.key()), render(webhook, after, one.key())
		calls = append(calls, olds[i], news[i])
	}
	_ = r.Call(calls...) // Calls without an answer are counted as not compared.
	counts := make([]int, len(checkWords))
	c := &templateCheck{}
	filtered := 0
	for i, one := range requests {
		if news[i].Err() == nil && news[i].Result().GetFiltered() {
			filtered++
		}
		row := compareRenderings(olds[i], news[i])
		counts[row.rank]++
		row.Word, row.Class, row.Delivery = checkWords[row.rank], checkClasses[row.rank], one.row(r)
		if row.rank != checkSame {
			c.Rows = append(c.Rows, row)
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b checkRow) int { return cmp.Compare(a.rank, b.rank) })
	c.Summary = fmt.Sprintf("%s: %d same, %d changed, %d mended, %d broken", show.Plural(int64(len(requests)), "request", "requests"),
		counts[checkSame], counts[checkChanged], counts[checkMended], counts[checkBroken])
	for _, rank := range []int{checkFailing, checkUnknown} {
		if counts[rank] > 0 {
			c.Summary += fmt.Sprintf(", %d %s", counts[rank], checkWords[rank])
		}
	}
	if after.filter != "" {
		c.Summary += fmt.Sprintf("; the filter drops %d", filtered)
	}
	switch {
	case counts[checkBroken] > 0:
		c.Kind = "bad"
	case counts[checkChanged]+counts[checkUnknown]+counts[checkFailing] > 0:
		c.Kind = "info"
	default:
		c.Kind = "good"
	}
	return c
}

// compareRenderings classes what two drafts make of one request. A filter that drops the request because it failed has done what
// the webhook's owner chose, so that is no error.
func compareRenderings(before, after *apicall.Unary[*orchv1.WebhookRendering]) checkRow {
	if before.Err() != nil || after.Err() != nil {
		return checkRow{rank: checkUnknown, Text: cmp.Or(page.Problem(before.Err()), page.Problem(after.Err()))}
	}
	was, is := failureOf(before.Result()), failureOf(after.Result())
	switch {
	case was == nil && is != nil:
		return checkRow{rank: checkBroken, Text: show.Line(is.GetMessage(), 200)}
	case was != nil && is != nil:
		return checkRow{rank: checkFailing, Text: show.Line(is.GetMessage(), 200)}
	case was != nil:
		return checkRow{rank: checkMended, Text: "was: " + show.Line(was.GetMessage(), 200)}
	}
	switch wasFiltered, isFiltered := before.Result().GetFiltered(), after.Result().GetFiltered(); {
	case wasFiltered && !isFiltered:
		return checkRow{rank: checkChanged, Text: "no longer filtered"}
	case !wasFiltered && isFiltered:
		return checkRow{rank: checkChanged, Text: "now filtered"}
	}
	differences := show.Differences(eventsOf(before.Result()), eventsOf(after.Result()), madeUp(after.Result())...)
	if len(differences) == 0 {
		return checkRow{rank: checkSame}
	}
	return checkRow{rank: checkChanged, Differences: differences}
}

// failureOf returns the error for which a request gets 400; nil for none.
func failureOf(r *orchv1.WebhookRendering) *orchv1.WebhookRenderingError {
	if r.GetFiltered() {
		return nil
	}
	return r.GetError()
}

// madeUp are the JSON paths of what each rendering makes up: ids and times.
func madeUp(r *orchv1.WebhookRendering) []string {
	paths := []string{"$.id", "$.received"}
	if r.Events == nil {
		return paths
	}
	for i := range webhookrender.MaxEvents {
		paths = append(paths, fmt.Sprintf("$[%d].id", i), fmt.Sprintf("$[%d].received", i))
	}
	return paths
}
