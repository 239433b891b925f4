package rules

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// MaxCacheKey is the maximum length of a cache key in characters.
const MaxCacheKey = 2000

const nameCached = "Cached"

// retrieveFromCache completes a run at once if a run with the same cache key has completed.
var retrieveFromCache = TaskRule{
	Name: "CacheRetrieval", From: anyState, To: setOf(running),
	Before: func(t *TaskTransition) {
		details := t.Proposed.GetStateDetails()
		if t.Facts.Cached == nil || details.GetCacheKey() == "" || details.GetRefreshCache() {
			return
		}
		instead := t.newState(t.Facts.Cached.GetType(), nameCached)
		instead.Message = t.Facts.Cached.Message
		instead.Data = t.Facts.Cached.Data
		// Run and request ids are this run's own.
		if details := t.Facts.Cached.GetStateDetails(); details != nil {
			instead.StateDetails = proto.Clone(details).(*orchv1.StateDetails)
		}
		instead.StateDetails.FlowRunId, instead.StateDetails.TaskRunId, instead.StateDetails.ChildFlowRunId = nil, nil, nil
		instead.StateDetails.TransitionId = details.TransitionId
		t.reject(instead, "Retrieved state from cache")
	},
}

// insertIntoCache caches a completed state for later runs with the same cache key.
var insertIntoCache = TaskRule{
	Name: "CacheInsertion", From: anyState, To: setOf(completed),
	Before: func(t *TaskTransition) {
		if utf8.RuneCountInString(t.Proposed.GetStateDetails().GetCacheKey()) > MaxCacheKey {
			// The run has completed, so the state stands but is not cached.
			t.reject(t.Proposed, fmt.Sprintf("Cache key exceeded maximum allowed length of %d characters.", MaxCacheKey))
		}
	},
	After: func(t *TaskTransition) {
		length := utf8.RuneCountInString(t.Proposed.GetStateDetails().GetCacheKey())
		t.Caches = 0 < length && length <= MaxCacheKey
	},
}

// CacheEntry returns the cache entry of a transition that Caches.
func (t *TaskTransition) CacheEntry() *orchv1.TaskRunCacheEntry {
	return &orchv1.TaskRunCacheEntry{
		Id:         t.Proposed.GetId(),
		CacheKey:   t.Proposed.GetStateDetails().GetCacheKey(),
		Timestamp:  timestamppb.New(t.Now),
		Expiration: t.Proposed.GetStateDetails().GetCacheExpiration(),
		State:      t.Proposed,
	}
}
