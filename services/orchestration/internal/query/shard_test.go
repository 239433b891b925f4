package query

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// MongoDB shards a collection only if its unique indexes begin with the shard key, and if a full index does.
func TestShardedCollectionsCanBeSharded(t *testing.T) {
	t.Parallel()
	for _, collection := range Sharded() {
		supported := false
		for _, index := range Indexes() {
			if index.Collection != collection {
				continue
			}
			keyed := index.Keys[0].Key == ShardKey
			require.True(t, keyed || !index.Unique, "%s: unique index %v", collection, index.Keys)
			supported = supported || keyed && len(index.Partial) == 0 && !index.Sparse
		}
		require.True(t, supported, "%s has no full index that begins with %s", collection, ShardKey)
	}
}

// The commands of docs/operations.md shard these collections and no others.
func TestShardingIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "operations.md"))
	require.NoError(t, err)
	names := ""
	for i, collection := range slices.Sorted(slices.Values(Sharded())) {
		if i > 0 {
			names += ", "
		}
		names += fmt.Sprintf("%q", collection)
	}
	require.Contains(t, string(text), "["+names+"].forEach(c => sh.shardCollection(`orch.${c}`, {"+ShardKey+": 1}))")
}
