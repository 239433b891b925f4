// Package logs is what services agree on about logs: the live feed that carries them, and what their filters mean for
// logs that pass.
//
//	orchestration: store ─▶ Split ─▶ live feed ─▶ gateway: Read ─▶ Matcher ─▶ websockets
//
// The feed is for those who watch: logs are durable in the store before they are on it, and who misses some finds them
// there.
package logs

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Feed is the name of the live feed that carries logs of all workspaces, in the order in which each batch came.
const Feed = "logs"

// maxFeedBytes is the size above which the logs of a batch are spread over several messages of the feed.
const maxFeedBytes = 1 << 20

// Split writes logs as messages of the feed. A message exceeds a mebibyte only where a single log does.
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
			return nil, fmt.Errorf("write %d logs for the feed: %w", n, err)
		}
		messages, all = append(messages, message), all[n:]
	}
	return messages, nil
}

// Read reads a message of the feed.
func Read(message []byte) ([]*orchv1.Log, error) {
	list := &orchv1.LogList{}
	if err := proto.Unmarshal(message, list); err != nil {
		return nil, fmt.Errorf("read a message of the feed of logs: %w", err)
	}
	return list.GetLogs(), nil
}
