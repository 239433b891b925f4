package web

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// slowAnswer responds when a time has passed, or when the caller has given up.
type slowAnswer struct {
	after   time.Duration
	message proto.Message
	// early responds with an error of the store a moment before the caller gives up.
	early time.Duration
	// err replaces the message.
	err error
}

func (s slowAnswer) wait(ctx context.Context) (proto.Message, rpc.Reply, error) {
	if deadline, ok := ctx.Deadline(); ok && s.early > 0 && s.after > time.Until(deadline) {
		<-time.After(time.Until(deadline) - s.early)
		return nil, rpc.Reply{}, rpc.Detail(http.StatusServiceUnavailable, "The query took too long.")
	}
	select {
	case <-time.After(s.after):
		return s.message, rpc.Reply{}, s.err
	case <-ctx.Done():
		return nil, rpc.Reply{}, ctx.Err()
	}
}

const scatterMethod = orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName

var completeLink = regexp.MustCompile(`data-complete>[^<]*<a href="([^"]*)"`)

// TestSlowParts opens pages with a part that takes 10 seconds. The page responds after 2 seconds with a link to the complete page, which
// waits for the part.
func TestSlowParts(t *testing.T) {
	for path, method := range map[string]string{
		"/?from=-24h":                 scatterMethod,
		"/runs?did=cancel-runs":       orchv1.FlowRunService_ReadFlowRuns_FullMethodName,
		"/runs/flow-run/" + someID:    orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName,
		"/deployments?q=nightly-sync": orchv1.DeploymentService_ReadDeployments_FullMethodName,
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := objectAnswers()
				message, ok := all[method].(proto.Message)
				if !ok {
					message = scatterOf(&orchv1.ReadFlowRunScatterRequest{Query: &orchv1.FlowRunScatterQuery{Rows: 1}})
				}
				all[method] = slowAnswer{after: 10 * time.Second, message: message}
				site := siteWith(t, &stub{answers: all}, nil)
				start := time.Now()
				body := visit(t, site, path, nil).Body.String()
				require.Equal(t, 2*time.Second, time.Since(start))
				require.Contains(t, body, "data-complete")
				link := html.UnescapeString(completeLink.FindStringSubmatch(body)[1])
				require.Contains(t, link, "wait=yes")
				require.NotContains(t, visit(t, siteWith(t, &stub{answers: objectAnswers()}, nil), path, nil).Body.String(), "data-complete", "nothing is slow")

				start = time.Now()
				body = visit(t, site, link, nil).Body.String()
				require.Equal(t, 10*time.Second, time.Since(start))
				require.NotContains(t, body, "data-complete")
				require.NotContains(t, body, "wait=yes", "links of the complete page do not wait")

				all[method] = slowAnswer{after: time.Hour, message: message}
				start = time.Now()
				body = visit(t, site, link, nil).Body.String()
				require.Equal(t, 30*time.Second, time.Since(start), "the wait has a bound")
				require.Contains(t, body, "took longer than 30s")
			})
		})
	}
}

// TestFragmentsTellThatAPartIsSlow requests the content of a live page. The script keeps what the page shows.
func TestFragmentsTellThatAPartIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := lists()
		all[scatterMethod] = slowAnswer{after: time.Hour}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept", fragmentType)
		w := httptest.NewRecorder()
		siteWith(t, &stub{answers: all}, nil).ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), "data-complete")
	})
}

// TestSlowLogs searches a log of many lines. The store gives up before the page does. The page keeps the run, the filter, and the link
// to the complete page.
func TestSlowLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := flowRunAnswers()
		message := all[orchv1.LogService_ReadLogs_FullMethodName].(proto.Message)
		all[orchv1.LogService_ReadLogs_FullMethodName] = slowAnswer{after: 10 * time.Second, message: message, early: time.Millisecond}
		site := siteWith(t, &stub{answers: all}, nil)
		const path = "/runs/flow-run/" + someID + "/logs?q=needle"
		got := visit(t, site, path, nil)
		require.Equal(t, http.StatusOK, got.Code)
		for _, part := range []string{"data-complete", "longer than 2s", `value="needle"`, "able-condor", "Parts of the run"} {
			require.Contains(t, got.Body.String(), part)
		}
		require.Contains(t, visit(t, site, path+"&wait=yes", nil).Body.String(), `id="L1"`)
		lines := visit(t, site, "/runs/flow-run/"+someID+"/logs/lines?q=needle", nil)
		require.Equal(t, http.StatusServiceUnavailable, lines.Code, "a file has no place for a problem")
	})
}
