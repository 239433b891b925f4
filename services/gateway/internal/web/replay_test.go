package web

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// deliveryLog answers the reads and replays of a log with failed deliveries.
type deliveryLog struct {
	deliveries []*orchv1.WebhookDelivery // Oldest first.
	reads      int
	replayed   []string
}

// failures returns a log of failures, ten in a second.
func failures(n int) *deliveryLog {
	l := &deliveryLog{}
	for i := range n {
		d := failedDelivery()
		d.Id = fmt.Sprintf("01890000-0000-7000-8000-%012d", i)
		d.Received = at(time.Hour - time.Duration(i/10)*time.Second)
		l.deliveries = append(l.deliveries, d)
	}
	return l
}

func (l *deliveryLog) read(request proto.Message) proto.Message {
	l.reads++
	query := request.(*orchv1.ReadDeliveriesRequest).GetQuery()
	received := query.GetDeliveries().GetReceived()
	matching := slices.DeleteFunc(slices.Clone(l.deliveries), func(d *orchv1.WebhookDelivery) bool {
		return d.GetReceived().AsTime().Before(received.GetAfter_().AsTime()) || d.GetReceived().AsTime().After(received.GetBefore_().AsTime())
	})
	from := min(int(query.GetOffset()), len(matching))
	return &orchv1.WebhookDeliveryList{Deliveries: matching[from:min(from+int(query.GetLimit().GetValue()), len(matching))]}
}

func (l *deliveryLog) replay(request proto.Message) proto.Message {
	list := &orchv1.WebhookDeliveryList{}
	for _, id := range request.(*orchv1.ReplayDeliveriesRequest).GetQuery().GetDeliveries().GetId().GetAny_().GetValues() {
		l.replayed = append(l.replayed, id)
		list.Deliveries = append(list.Deliveries, &orchv1.WebhookDelivery{Id: someID, WebhookId: someID, Status: 204, ReplayOf: proto.String(id), Received: at(0)})
	}
	return list
}

func (l *deliveryLog) answers() answers {
	all := console()
	all[orchv1.WebhookService_ReadDeliveries_FullMethodName] = l.read
	all[orchv1.WebhookService_ReplayDeliveries_FullMethodName] = l.replay
	return all
}

var (
	replayForms  = regexp.MustCompile(`(?s)<form [^>]*action="([^"]*)" data-replay>.*?</form>`)
	hiddenFields = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// submitAll submits the form of a page and of the pages that follow until there is none, and returns the last page.
func submitAll(t *testing.T, site *Site, last string) (_ string, batches int) {
	t.Helper()
	for form := replayForms.FindStringSubmatch(last); form != nil; form = replayForms.FindStringSubmatch(last) {
		batches++
		require.Less(t, batches, 200, "the replay does not end")
		values := url.Values{}
		for _, field := range hiddenFields.FindAllStringSubmatch(form[0], -1) {
			values.Add(field[1], html.UnescapeString(field[2]))
		}
		got := visit(t, site, html.UnescapeString(form[1]), values)
		require.Equal(t, 200, got.Code, got.Body.String())
		last = got.Body.String()
	}
	return last, batches
}

// TestReplayOfALongRange replays more deliveries than a page counts. Each is replayed once, in order, and the reads grow
// with the number of batches.
func TestReplayOfALongRange(t *testing.T) {
	t.Parallel()
	const total = 1_130
	log := failures(total)
	site := siteWith(t, &stub{answers: log.answers()}, nil)
	path := "/webhooks/webhook/" + someID + "/replay"
	require.Contains(t, visit(t, site, path, nil).Body.String(), "<strong>1,000+ deliveries</strong>")
	log.reads = 0
	last, batches := submitAll(t, site, visit(t, site, path, nil).Body.String())
	require.Contains(t, last, "1130 of 1,130+ replayed")
	require.Contains(t, last, "Finished.")
	require.Equal(t, (total+24)/25, batches)
	require.LessOrEqual(t, log.reads, batches+6)
	require.Len(t, log.replayed, total)
	require.True(t, slices.IsSorted(log.replayed))
	require.Len(t, slices.Compact(log.replayed), total)
}

// TestReplayPassesEarlierReplays continues behind 1,000 deliveries that are replays.
func TestReplayPassesEarlierReplays(t *testing.T) {
	t.Parallel()
	log := failures(1_430)
	for _, d := range log.deliveries[:1_400] {
		d.ReplayOf = proto.String(someID)
	}
	site := siteWith(t, &stub{answers: log.answers()}, nil)
	path := "/webhooks/webhook/" + someID + "/replay"
	first := visit(t, site, path, nil).Body.String()
	require.Contains(t, first, "The range continues.")
	require.NotContains(t, first, "Finished")
	last, _ := submitAll(t, site, visit(t, site, path, nil).Body.String())
	require.Contains(t, last, "Finished.")
	require.Len(t, log.replayed, 30)
}

// TestReplayOfASelection keeps the rest of a selection in the form.
func TestReplayOfASelection(t *testing.T) {
	t.Parallel()
	log := failures(60)
	site := siteWith(t, &stub{answers: log.answers()}, nil)
	form := url.Values{"action": {"replay-selection"}, "confirm": {"yes"}}
	for _, d := range log.deliveries {
		form.Add("id", d.GetId())
	}
	got := visit(t, site, "/webhooks/webhook/"+someID+"/replay", form).Body.String()
	require.Contains(t, got, "of 60 replayed")
	require.Equal(t, 35, strings.Count(got, `name="id"`))
}
