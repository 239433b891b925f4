package resourceid

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// Client is the version of the client whose call this is; unknown where the server acts by itself.
func Client(ctx context.Context) rules.Version {
	info, err := request.Incoming(ctx)
	if err != nil {
		return rules.Version{}
	}
	return rules.ClientVersion(info.UserAgent)
}
