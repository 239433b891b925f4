package broker

import (
	"context"
	"math/bits"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// maxRoomAttempts bounds how often room is made for one dead letter.
const maxRoomAttempts = 3

// sizeClass is the number of bits of a size. It is in the subject of a dead letter. So the numbers of messages by subject tell the bytes
// of a workspace within a factor of two.
func sizeClass(bytes int) int { return bits.Len(uint(bytes)) }

// usage is the number and the bytes of the dead letters of a workspace in their stream.
type usage struct {
	filter   string // The subjects of its dead letters.
	messages uint64
	bytes    uint64 // About.
}

// makeRoom drops the older half of the dead letters of the workspace that has the most bytes of them. So a workspace never
// drops the letters of a workspace with fewer bytes.
func (c *Conn) makeRoom(ctx context.Context) error {
	stream, err := c.js.Stream(ctx, StreamDeadLetters)
	if err != nil {
		return unavailable(ctx, "make room for dead letters", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(deadLetterPrefix+">"))
	if err != nil {
		return unavailable(ctx, "make room for dead letters", err)
	}
	largest := largestUsage(info.State.Subjects)
	if largest.messages == 0 {
		return nil
	}
	opts := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(largest.filter)}
	kept := largest.messages / 2
	if kept > 0 { // The server takes 0 as absent.
		opts = append(opts, jetstream.WithPurgeKeep(kept))
	}
	if err := stream.Purge(ctx, opts...); err != nil {
		return unavailable(ctx, "make room for dead letters", err)
	}
	dropped := largest.messages - kept
	c.deadLettersDropped.Add(int64(dropped))
	c.log.ErrorContext(ctx, "the stream of dead letters is full: dropping the oldest ones of the workspace with the most",
		"subjects", largest.filter, "dropped", dropped)
	return nil
}

// largestUsage returns the usage with the most bytes, from the numbers of messages by subject. Dead letters of older versions, whose
// subjects name no workspace, count as one workspace.
func largestUsage(subjects map[string]uint64) (largest usage) {
	const assumed = 1 << 10 // The size of a dead letter of an older version.
	usages := map[string]*usage{}
	for subject, n := range subjects {
		filter, size := subject, uint64(assumed)
		// The durable consumer, the workspace, the class of the size, then the id of the letter.
		if tokens := strings.Split(strings.TrimPrefix(subject, deadLetterPrefix), "."); len(tokens) >= 3 {
			filter = deadLetterPrefix + "*." + tokens[1] + ".>"
			if class, err := strconv.Atoi(tokens[2]); err == nil && class < 64 {
				size = 1 << class
			}
		}
		s := usages[filter]
		if s == nil {
			s = &usage{filter: filter}
			usages[filter] = s
		}
		s.messages += n
		s.bytes += n * size
		if s.bytes > largest.bytes {
			largest = *s
		}
	}
	return largest
}
