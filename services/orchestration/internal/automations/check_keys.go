package automations

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// minCollected and maxCollected bound the period of debounce and the timeout of batch.
	minCollected = time.Second
	maxCollected = 24 * time.Hour
	// maxDebounce bounds the timeout of debounce, which is maxCollected by default.
	maxDebounce = 7 * 24 * time.Hour
)

// prepareKeys fills in what was not sent of debounce, batch and singleton, and collects what is wrong with them.
func (s *Checker) prepareKeys(run *orchv1.RunDeployment, at fieldPath, found *fieldErrors) {
	if debounce := run.GetDebounce(); debounce != nil {
		at := at.key("debounce")
		s.checkTemplate("key", debounce.GetKey(), at, found)
		if debounce.GetTimeout() == nil {
			debounce.Timeout = durationpb.New(max(maxCollected, debounce.GetPeriod().AsDuration()))
		}
		checkDuration(debounce.GetPeriod(), minCollected, maxCollected, at.key("period"), found)
		checkDuration(debounce.GetTimeout(), debounce.GetPeriod().AsDuration(), maxDebounce, at.key("timeout"), found)
	}
	if batch := run.GetBatch(); batch != nil {
		at := at.key("batch")
		s.checkTemplate("key", batch.GetKey(), at, found)
		checkDuration(batch.GetTimeout(), minCollected, maxCollected, at.key("timeout"), found)
		if run.GetDebounce() != nil {
			found.add(at, "batch and debounce exclude each other")
		}
	}
	if singleton := run.GetSingleton(); singleton != nil {
		s.checkTemplate("key", singleton.GetKey(), at.key("singleton"), found)
	}
}

func checkDuration(d *durationpb.Duration, least, most time.Duration, at fieldPath, found *fieldErrors) {
	if d := d.AsDuration(); d < least || d > most {
		found.add(at, "Input should be between %g and %g seconds", least.Seconds(), most.Seconds())
	}
}
