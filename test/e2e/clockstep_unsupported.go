//go:build !(linux && amd64)

package e2e

import (
	"errors"
	"time"
)

// StepClock is supported on Linux and x86-64 only.
func (p *Process) StepClock(time.Duration) error { return errors.ErrUnsupported }
