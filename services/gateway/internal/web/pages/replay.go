package pages

import orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"

// replayCalls are the rpcs of a replay.
var replayCalls = []string{orchv1.WebhookService_ReplayDeliveries_FullMethodName}
