package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// later is a clock that no count is ahead of.
	later  = begin.Add(48 * time.Hour)
	begin  = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	policy = Policy{Window: 5 * time.Minute, Failures: 5, Share: 0.5}
)

// feed counts requests of one process, each count with the next sequence.
type feed struct {
	watch    *orchv1.WebhookWatch
	sequence int64
}

func newFeed() *feed { return &feed{watch: &orchv1.WebhookWatch{Id: uuid.NewString()}} }

func (f *feed) traffic(after time.Duration, requests, failures int64) *orchv1.WebhookTraffic {
	f.sequence++
	return &orchv1.WebhookTraffic{
		Name: "pushes", Source: &orchv1.WebhookTrafficSource{Id: "a", Sequence: f.sequence}, Last: timestamppb.New(begin.Add(after)),
		Requests: requests, Failures: failures, Reason: proto.String("signature"),
	}
}

func (f *feed) count(after time.Duration, requests, failures int64) string {
	return words(policy.Count(f.watch, f.traffic(after, requests, failures), begin.Add(after)))
}

func (f *feed) examine(after time.Duration) string {
	return words(policy.Examine(f.watch, begin.Add(after)))
}

// words are the statuses that changes lead to.
func words(changes []Transition) string {
	var out []string
	for _, c := range changes {
		out = append(out, strings.ToLower(strings.TrimPrefix(c.To.String(), "WEBHOOK_HEALTH_STATUS_")))
	}
	return strings.Join(out, " ")
}

func TestFailingAndRecovered(t *testing.T) {
	t.Parallel()
	f := newFeed()
	require.Equal(t, "healthy", f.count(0, 10, 0))
	require.Empty(t, f.count(time.Second, 4, 4), "fewer than the minimum")
	require.Empty(t, f.count(2*time.Second, 1, 1), "5 of 15 are less than half")
	require.Equal(t, "failing", f.count(3*time.Second, 5, 5), "10 of 20")
	require.Empty(t, f.count(4*time.Second, 1000, 0), "not before the window ends")
	require.Equal(t, begin.Add(5*time.Minute), f.watch.GetDue().AsTime())
	require.Empty(t, f.examine(4*time.Minute))
	require.Equal(t, "healthy", f.examine(5*time.Minute))
	require.Nil(t, f.watch.Due)
	require.Equal(t, "failing", f.count(6*time.Minute, 5, 5))
	require.Empty(t, f.examine(11*time.Minute), "a window of failures is no recovery")
	require.Empty(t, f.examine(30*time.Minute), "a window without requests shows nothing")
	require.Nil(t, f.watch.Due)
	require.Empty(t, f.count(31*time.Minute, 3, 0))
	require.Equal(t, "healthy", f.count(36*time.Minute, 1, 1), "the next window ends it without the watcher")
}

func TestSilence(t *testing.T) {
	t.Parallel()
	f := newFeed()
	hour := int64(3600)
	policy.Follow(f.watch, "nightly", &hour, begin)
	require.Equal(t, begin.Add(time.Hour), f.watch.GetDue().AsTime())
	require.Empty(t, f.examine(59*time.Minute))
	require.Equal(t, "silent", f.examine(time.Hour))
	require.Nil(t, f.watch.Due)
	require.Empty(t, f.count(2*time.Hour, 1, 1), "a failure is no recovery")
	require.Equal(t, "healthy", f.count(2*time.Hour+time.Minute, 1, 0))
	policy.Follow(f.watch, "nightly", &hour, begin.Add(3*time.Hour))
	require.Equal(t, begin.Add(3*time.Hour+time.Minute), f.watch.GetDue().AsTime(), "an equal setting does not start anew")
	require.Equal(t, "failing", f.count(2*time.Hour+2*time.Minute, 9, 9))
	require.Empty(t, f.examine(9*time.Hour), "a failing webhook is not silent too")
	policy.Follow(f.watch, "nightly", nil, begin)
	require.Nil(t, f.watch.Due)
}

// TestCountsThatArriveAgainChangeNothing, also those of many processes.
func TestCountsThatArriveAgainChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		counts := map[string][]*orchv1.WebhookTraffic{}
		once, again := &orchv1.WebhookWatch{Id: "w"}, &orchv1.WebhookWatch{Id: "w"}
		for range rapid.IntRange(1, 30).Draw(t, "counts") {
			source := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "source")
			requests := rapid.Int64Range(1, 10).Draw(t, "requests")
			counts[source] = append(counts[source], &orchv1.WebhookTraffic{
				Source: &orchv1.WebhookTrafficSource{Id: source, Sequence: int64(len(counts[source]) + 1)}, Requests: requests,
				Failures: rapid.Int64Range(0, requests).Draw(t, "failures"),
				Last:     timestamppb.New(begin.Add(time.Duration(rapid.IntRange(0, 1200).Draw(t, "seconds")) * time.Second)),
			})
			latest := counts[source][len(counts[source])-1]
			want := policy.Count(once, latest, later)
			require.Equal(t, want, policy.Count(again, latest, later))
			for range rapid.IntRange(0, 2).Draw(t, "again") {
				require.Empty(t, policy.Count(again, rapid.SampledFrom(counts[source]).Draw(t, "duplicate"), later))
			}
		}
		require.True(t, proto.Equal(once, again))
	})
}

// TestCountsArriveInAnyOrder: the journal delivers again what a replica could not store, after newer counts.
func TestCountsArriveInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed()
		counts := make([]*orchv1.WebhookTraffic, rapid.IntRange(1, 60).Draw(t, "counts"))
		var want int64
		for i := range counts {
			counts[i] = f.traffic(time.Second, int64(i+1), 0)
			want += int64(i + 1)
		}
		arrivals := append(rapid.Permutation(counts).Draw(t, "order"), rapid.Permutation(counts).Draw(t, "again")...)
		for _, count := range arrivals {
			policy.Count(f.watch, count, later)
		}
		require.Equal(t, want, f.watch.GetRequests())
	})
}

// TestAClockThatIsAhead neither hides the requests of other processes nor delays silence.
func TestAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	f := newFeed()
	hour := int64(3600)
	policy.Follow(f.watch, "nightly", &hour, begin)
	policy.Count(f.watch, f.traffic(24*time.Hour, 1, 0), begin.Add(time.Minute))
	require.Equal(t, begin.Add(time.Minute), f.watch.GetLastDelivery().AsTime())
	require.Equal(t, "failing", words(policy.Count(f.watch, f.traffic(2*time.Minute, 9, 9), begin.Add(2*time.Minute))))
	require.Equal(t, begin, f.watch.GetWindow().AsTime())
}

// TestAClockThatIsBehind: a webhook with requests is not silent, however far behind the clock of its process is.
func TestAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	f := newFeed()
	hour := int64(3600)
	policy.Follow(f.watch, "nightly", &hour, begin)
	for minute := range 180 {
		now := begin.Add(time.Duration(minute) * time.Minute)
		behind := f.traffic(time.Duration(minute)*time.Minute-3*time.Hour, 1, 0)
		changes := append(policy.Count(f.watch, behind, now), policy.Examine(f.watch, now)...)
		require.NotContains(t, words(changes), "silent")
	}
	require.Equal(t, "silent", f.examine(179*time.Minute+time.Hour))
}

// TestAClockThatStepsBack neither keeps a webhook failing nor hides its silence until the clock has caught up.
func TestAClockThatStepsBack(t *testing.T) {
	t.Parallel()
	f := newFeed()
	hour := int64(3600)
	policy.Follow(f.watch, "nightly", &hour, begin.Add(24*time.Hour))
	require.Equal(t, "failing", f.count(24*time.Hour, 9, 9))
	require.Empty(t, f.count(time.Minute, 3, 0))
	require.Equal(t, int64(3), f.watch.GetRequests(), "a new window")
	require.Equal(t, "healthy", f.examine(6*time.Minute))
	require.Equal(t, "silent", f.examine(62*time.Minute))
}

// TestOneChangePerWindow: however requests alternate, a webhook neither fails nor recovers twice in a window.
func TestOneChangePerWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed()
		seen := map[string]bool{}
		at := time.Duration(0)
		for range rapid.IntRange(1, 200).Draw(t, "counts") {
			at += time.Duration(rapid.IntRange(0, 200).Draw(t, "seconds")) * time.Second
			requests := rapid.Int64Range(1, 20).Draw(t, "requests")
			changes := policy.Count(f.watch, f.traffic(at, requests, rapid.SampledFrom([]int64{0, requests}).Draw(t, "failures")), later)
			changes = append(changes, policy.Examine(f.watch, begin.Add(at))...)
			for _, c := range changes {
				published, err := policy.Events(vocabulary.Orch, f.watch, c, begin.Add(at))
				require.NoError(t, err)
				for _, event := range published {
					key := event.GetEvent() + c.At.Truncate(policy.Window).String()
					require.False(t, seen[key], key)
					require.False(t, seen[event.GetId()], "an id of its own")
					seen[key], seen[event.GetId()] = true, true
				}
			}
		}
	})
}

func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFeed()
	changes := policy.Count(f.watch, f.traffic(0, 6, 6), later)
	require.Len(t, changes, 1)
	for vocab, prefix := range map[vocabulary.Vocabulary]string{vocabulary.Orch: "orch", vocabulary.Prefect: "prefect"} {
		published, err := policy.Events(vocab, f.watch, changes[0], begin)
		require.NoError(t, err)
		require.Len(t, published, 2)
		require.Equal(t, prefix+"-cloud.webhook.failing", published[0].GetEvent())
		require.Equal(t, prefix+".webhook.failing", published[1].GetEvent(), "the former name")
		require.NotEqual(t, published[0].GetId(), published[1].GetId())
		again, err := policy.Events(vocab, f.watch, changes[0], begin.Add(time.Second))
		require.NoError(t, err)
		for i, event := range published {
			require.Equal(t, prefix+"-cloud.webhook."+f.watch.GetId(), event.GetResource().GetLabels()[prefix+".resource.id"])
			require.JSONEq(t, `{"status": "failing", "cause": "requests", "requests": 6, "failures": 6, "reason": "signature", "error": null, "window_seconds": 300}`,
				string(event.GetPayload()))
			require.Equal(t, event.GetId(), again[i].GetId(), "deterministic")
		}
	}
	require.EqualValues(t, 6, policy.Show(f.watch, begin).GetFailures())
	require.Zero(t, policy.Show(f.watch, begin.Add(time.Hour)).GetFailures(), "the window is over")
	require.Equal(t, unknown, policy.Show(nil, begin).GetStatus())
}

func TestHealthIsShownFromTheFirstRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests, failures int64
		want               orchv1.WebhookHealthStatus
	}{
		"accepted": {1, 0, healthy}, "one of two accepted": {2, 1, healthy}, "failed": {1, 1, failing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFeed()
			changes := policy.Count(f.watch, f.traffic(0, c.requests, c.failures), begin)
			require.Equal(t, c.want, policy.Show(f.watch, begin).GetStatus())
			for _, change := range changes {
				published, err := policy.Events(vocabulary.Orch, f.watch, change, begin)
				require.NoError(t, err)
				require.Empty(t, published, "the first request is no news")
			}
			require.Equal(t, c.want, policy.Show(f.watch, begin.Add(24*time.Hour)).GetStatus())
			policy.Count(f.watch, f.traffic(25*time.Hour, 1, 0), begin.Add(25*time.Hour))
			require.Equal(t, healthy, policy.Show(f.watch, begin.Add(25*time.Hour)).GetStatus(), "the first accepted request")
		})
	}
}

// TestFilteredRequestsDoNotHideFailures, and they are none.
func TestFilteredRequestsDoNotHideFailures(t *testing.T) {
	t.Parallel()
	f := newFeed()
	count := func(after time.Duration, requests, failures, filtered int64) string {
		traffic := f.traffic(after, requests, failures)
		traffic.Filtered = filtered
		return words(policy.Count(f.watch, traffic, begin.Add(after)))
	}
	require.Equal(t, "healthy", count(0, 1000, 0, 1000))
	require.EqualValues(t, 1000, policy.Show(f.watch, begin).GetFiltered())
	require.Equal(t, "failing", count(time.Minute, 9, 5, 0), "five of nine others fail")
	require.EqualValues(t, 1000, policy.Show(f.watch, begin.Add(time.Minute)).GetFiltered())
	require.Equal(t, "healthy", count(5*time.Minute, 20, 5, 5)+f.examine(10*time.Minute))
	require.Zero(t, policy.Show(f.watch, begin.Add(10*time.Minute)).GetFiltered())
}
