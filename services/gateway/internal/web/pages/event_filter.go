package pages

import (
	"strings"
	"time"

	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
)

// eventFilter is the selection of events in an address.
type eventFilter struct {
	Window    param.Window
	Names     []string
	Resources []string
	Q         string
	Rows      int
}

// maxEventRows is the largest page of events that the API returns.
const maxEventRows = 50

func readEventFilter(r *page.Request) eventFilter {
	window := r.Window()
	if at := r.AsOf(); !at.IsZero() && at.Before(window.To) { // The feed as it was has no later events.
		window.To, window.Open = at, false
	}
	return eventFilter{
		Window: window, Names: r.Texts("event"), Resources: r.Texts("resource"), Q: r.Text("q"),
		Rows: r.Int("n", 1, maxEventRows, maxEventRows),
	}
}

func (f eventFilter) any() bool { return len(f.Names)+len(f.Resources) > 0 || f.Q != "" }

// criteria is the filter as the API has it. A name or resource that ends in an asterisk is a prefix.
func (f eventFilter) criteria() apicall.JSON {
	criteria := apicall.JSON{"occurred": apicall.JSON{"since": f.Window.From, "until": f.Window.To}}
	if names := prefixes("name", "prefix", f.Names); len(names) > 0 {
		criteria["event"] = names
	}
	if resources := prefixes("id", "id_prefix", f.Resources); len(resources) > 0 {
		criteria["any_resource"] = resources
	}
	if f.Q != "" {
		criteria["text"] = apicall.JSON{"query": f.Q}
	}
	return criteria
}

// prefixes separates exact values from those that end in an asterisk. If one is a prefix, all are, because the API
// requires all criteria to match.
func prefixes(exact, prefix string, values []string) apicall.JSON {
	if len(values) == 0 {
		return nil
	}
	var begin []string
	some := false
	for _, v := range values {
		trimmed, found := strings.CutSuffix(v, "*")
		some = some || found
		begin = append(begin, trimmed)
	}
	if some {
		return apicall.JSON{prefix: begin}
	}
	return apicall.JSON{exact: values}
}

// interval returns the unit and length of a histogram's bars.
func (f eventFilter) interval() (unit string, length float64) {
	return "second", max(f.Window.Length().Seconds()/histogramBars, time.Second.Seconds())
}
