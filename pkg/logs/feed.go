// Package logs defines the live feed of logs and the matching of live logs for all services.
//
//	orchestration: store ─▶ Split ─▶ live feed ─▶ gateway: Read ─▶ Matcher ─▶ websockets
//
// The feed serves live views. Logs are durable in the store before they reach the feed, so a subscriber that misses
// some can read them there.
package logs

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Feed is the name of the live feed of the logs of all workspaces, in the order of arrival within a batch.
const Feed = "logs"

// maxFeedBytes bounds one message of the feed; larger batches are split.
const maxFeedBytes = 1 << 20

// Split encodes logs as messages of the feed. A message exceeds a mebibyte only if a single log does.
func Split(all []*orchv1.Log) ([][]byte, error) {
	var messages [][]byte
	for len(all) > 0 {
		n, size := 0, 0
		for n < len(all) {
			size += proto.Size(all[n])
			if n > 0 && size > maxFeedBytes {
				break
			}
			n++
		}
		message, err := proto.Marshal(&orchv1.LogList{Logs: all[:n]})
		if err != nil {
			return nil, fmt.Errorf("encode %d logs: %w", n, err)
		}
		messages, all = append(messages, message), all[n:]
	}
	return messages, nil
}

// Read decodes a message of the feed.
func Read(message []byte) ([]*orchv1.Log, error) {
	list := &orchv1.LogList{}
	if err := proto.Unmarshal(message, list); err != nil {
		return nil, fmt.Errorf("decode logs: %w", err)
	}
	return list.GetLogs(), nil
}
