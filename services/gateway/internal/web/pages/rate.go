package pages

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// rateFields are the fields of a rate limit as their reader typed them. Empty requests mean no limit.
type rateFields struct{ Requests, Seconds, Burst string }

func rateFieldsOf(l *orchv1.WebhookRateLimit) rateFields {
	if l == nil {
		return rateFields{}
	}
	f := rateFields{Requests: strconv.FormatInt(l.GetRequests(), 10), Seconds: strconv.FormatInt(l.GetSeconds(), 10)}
	if l.Burst != nil {
		f.Burst = strconv.FormatInt(l.GetBurst(), 10)
	}
	return f
}

func postedRate(r *page.Request) rateFields {
	return rateFields{Requests: r.Field("requests"), Seconds: r.Field("seconds"), Burst: r.Field("burst")}
}

// body is the rate limit as the API has it; nil without a limit.
func (f rateFields) body() (any, error) {
	if f.Requests == "" {
		return nil, nil //nolint:nilnil // The JSON null that lifts the limit.
	}
	limit := apicall.JSON{"seconds": int64(60)}
	for name, text := range map[string]string{"requests": f.Requests, "seconds": f.Seconds, "burst": f.Burst} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, rpc.Detail(http.StatusUnprocessableEntity, "The rate limit needs whole numbers.")
		}
		limit[name] = n
	}
	return limit, nil
}

// rateText describes a rate limit; empty for none.
func rateText(l *orchv1.WebhookRateLimit) string {
	if l == nil {
		return ""
	}
	text := fmt.Sprintf("%s in %d s", show.Plural(l.GetRequests(), "request", "requests"), l.GetSeconds())
	if l.Burst != nil {
		text += fmt.Sprintf(", %d at once", l.GetBurst())
	}
	return text
}
