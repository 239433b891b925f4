package hourtotals

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Hour is a number of whole hours since 1970.
type Hour int64

const hourMicros = int64(time.Hour / time.Microsecond)

// HourOf returns the hour of a time in microseconds.
func HourOf(micros int64) Hour {
	h := micros / hourMicros
	if micros%hourMicros < 0 {
		h--
	}
	return Hour(h)
}

// Start is the beginning of the hour in microseconds. It is also the end of the one before.
func (h Hour) Start() int64 { return int64(h) * hourMicros }

// end is the time at which the hour ends.
func (h Hour) end() time.Time { return time.UnixMicro((h + 1).Start()) }

// idLength is the length of an id: the workspace, the kind and the hour, so ids of one kind ascend with the hours.
const idLength = 16 + 1 + 8

func idOf(ws uuid.UUID, k *Kind, h Hour) bson.Binary {
	key := make([]byte, 0, idLength)
	key = append(append(key, ws[:]...), k.code)
	return bson.Binary{Data: binary.BigEndian.AppendUint64(key, uint64(h)^(1<<63))} // Negative hours come first.
}

var errID = errors.New("id of an hour is malformed")

// hourOfID returns the hour of an id.
func hourOfID(id bson.RawValue) (Hour, error) {
	_, key, ok := id.BinaryOK()
	if !ok || len(key) != idLength {
		return 0, errID
	}
	return Hour(binary.BigEndian.Uint64(key[17:]) ^ (1 << 63)), nil
}

// Window is a range of times in microseconds; Until is exclusive.
type Window struct{ From, Until int64 }

// always is the window of all times.
var always = Window{math.MinInt64, math.MaxInt64}

// filter is the condition on a field for the times in the window.
func (w Window) filter() bson.D {
	var d bson.D
	if w.From != math.MinInt64 {
		d = append(d, bson.E{Key: "$gte", Value: w.From})
	}
	if w.Until != math.MaxInt64 {
		d = append(d, bson.E{Key: "$lt", Value: w.Until})
	}
	return d
}
