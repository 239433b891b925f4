//go:build e2eweb

package web

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// TestLivePages keeps pages open while runs, logs and deliveries change, in both forms of the server.
func TestLivePages(t *testing.T) {
	for name, start := range map[string]func(testing.TB, e2e.Programs, string, ...string) *e2e.Orch{"single": e2e.StartSingle, "three": e2e.StartThree} {
		t.Run(name, func(t *testing.T) {
			o := start(t, programs, t.TempDir())
			s := seeder{t, o.API()}
			flow := s.post("/flows/", object{"name": "live"})
			newRun := func(name string) string {
				return s.post("/flow_runs/", object{"flow_id": flow, "name": name, "state": object{"type": "PENDING"}})
			}
			setState := func(run, state string) {
				s.post("/flow_runs/"+run+"/set_state", object{"state": object{"type": state}, "force": true})
			}
			first := newRun("first")
			browser, seen := open(t, o.URL, 5*time.Minute)
			do := func(actions ...chromedp.Action[chromedp.Void]) { require.NoError(t, chromedp.Do(browser, actions...)) }

			// The list: a known row changes in place, a new one waits behind a button.
			do(chromedp.Navigate(o.URL+"/runs"), shown(`//*[@id="live"][@data-state="live"]`), shown(`//tr[.//a[.="first"]]//*[contains(@class, "s-pending")]`))
			setState(first, "RUNNING")
			do(shown(`//tr[.//a[.="first"]]//*[contains(@class, "s-running")]`))
			second := newRun("second")
			do(shown(`//button[@data-newer][.="1 newer"]`), chromedp.Click(`//button[@data-newer]`), shown(`//tr//a[.="second"]`))

			// The page of a run: its state and its log.
			do(chromedp.Navigate(o.URL+"/runs/flow-run/"+second), shown(`//*[@id="live"][@data-state="live"]`))
			setState(second, "COMPLETED")
			do(shown(`//*[@id="head"]//*[contains(@class, "s-completed")]`))
			do(chromedp.Navigate(o.URL+"/runs/flow-run/"+first+"/logs"), shown(`//*[@id="live"][@data-state="live"]`))
			for _, line := range []string{"one line", "another line"} {
				s.post("/logs/", []object{{
					"name": "flow_runs", "level": 20, "message": line, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": first,
				}})
				do(shown(`//*[@id="lines"]//li[contains(., "` + line + `")]`))
			}

			// A webhook: its deliveries, also the refused ones.
			var webhook struct{ ID, URL string }
			require.Equal(t, http.StatusCreated, call(t, http.MethodPost, o.API()+"/webhooks/", object{"name": "live", "template": brokenTemplate}, &webhook))
			do(chromedp.Navigate(o.URL+"/webhooks/webhook/"+webhook.ID), shown(`//*[@id="live"][@data-state="live"]`))
			require.Equal(t, http.StatusBadRequest, deliver(t, webhook.URL, 1))
			do(shown(`//*[@id="deliveries"]//tr[contains(., "400")]`))

			// A pause ends the socket; a resumed page catches up.
			do(chromedp.Navigate(o.URL+"/events"), shown(`//*[@id="live"][@data-state="live"]`), chromedp.Click(`//button[@data-pause]`), shown(`//*[@id="live"][@data-state="paused"]`))
			newRun("third")
			do(chromedp.Click(`//button[@data-pause]`), shown(`//*[@id="live"][@data-state="live"]`), shown(`//button[@data-newer]`))
			problems, status := seen.take()
			require.Empty(t, problems)
			require.EqualValues(t, http.StatusOK, status)
		})
	}
}
