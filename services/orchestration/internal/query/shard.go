package query

// ShardKey is the field of the shard key of every sharded collection. All unique indexes of these collections begin with it,
// as MongoDB requires, and a request names its workspace, so its reads and writes go to one shard. The documents of one
// workspace stay on one shard.
const ShardKey = workspaceKey

// Sharded returns the collections that grow with the work, and that an operator shards. The others are small; they stay on
// the primary shard of the database.
func Sharded() []Collection {
	return []Collection{
		Artifact, AutomationAction, Event, FlowRun, FlowRunInput, FlowRunState, Log, TaskRun, TaskRunState, WebhookDelivery,
	}
}
