package jinja

import (
	"context"
	"runtime"
	"time"
)

// meter counts what one rendering consumes. One goroutine owns it.
type meter struct {
	steps    int64 // remaining
	bytes    int64 // remaining of what the host granted
	reserve  int64 // remaining of the budget, to be charged to memory
	memory   Memory
	check    int64 // remaining steps at the next check of the clock
	depth    int
	maxDepth int
	budget   *Budget
	deadline time.Time // zero: none
	done     <-chan struct{}
}

// clockEvery is the number of steps between checks of the clock and the context.
const clockEvery = 2048

// Memory is the host's bound for the memory of all renderings. An error stops the rendering, whose error wraps it.
type Memory interface {
	Charge(bytes int) error
}

// memoryStep is the number of bytes that a rendering charges to Memory at least.
const memoryStep = 64 << 10

// init starts a rendering whose variables hold bytes. A nil memory grants the whole budget.
func (m *meter) init(ctx context.Context, b *Budget, held int, memory Memory) {
	m.budget = b
	m.steps, m.bytes, m.maxDepth = b.Steps, b.Bytes-int64(held), b.Depth
	if m.memory = memory; memory != nil && m.bytes > 0 {
		m.bytes, m.reserve = 0, m.bytes
	}
	m.check = max(m.steps-clockEvery, -1)
	if b.Timeout > 0 {
		m.deadline = time.Now().Add(b.Timeout)
	}
	if d, ok := ctx.Deadline(); ok && (m.deadline.IsZero() || d.Before(m.deadline)) {
		m.deadline = d
	}
	m.done = ctx.Done()
}

// step charges one step.
func (m *meter) step() error {
	m.steps--
	if m.steps <= m.check {
		return m.slowStep()
	}
	return nil
}

// work charges n steps before they are executed.
func (m *meter) work(n int) error {
	m.steps -= int64(n)
	if m.steps <= m.check {
		return m.slowStep()
	}
	return nil
}

func (m *meter) slowStep() error {
	if m.steps < 0 {
		return budgetErr("the template exceeds its budget of %d steps", m.budget.Steps)
	}
	m.check = max(m.steps-clockEvery, -1)
	if !m.deadline.IsZero() && time.Now().After(m.deadline) {
		return budgetErr("the template exceeds its time limit")
	}
	runtime.Gosched() // The scheduler preempts only after ten milliseconds; on few processors small requests would wait so long.
	select {
	case <-m.done:
		return budgetErr("the rendering was cancelled")
	default:
		return nil
	}
}

// charge charges n bytes before their allocation.
func (m *meter) charge(n int) error {
	if n < 0 || int64(n) > m.bytes {
		return m.grow(n)
	}
	m.bytes -= int64(n)
	return nil
}

// grow charges n bytes that exceed what the host granted.
func (m *meter) grow(n int) error {
	if n < 0 || int64(n) > m.bytes+m.reserve {
		return budgetErr("the template exceeds its budget of %d bytes", m.budget.Bytes)
	}
	more := min(max(int64(n)-m.bytes, memoryStep), m.reserve)
	if err := m.memory.Charge(int(more)); err != nil {
		return &Error{Kind: KindBudget, Type: "BudgetError", Message: err.Error(), class: classBudget, cause: err}
	}
	m.bytes += more - int64(n)
	m.reserve -= more
	return nil
}

// chargeTimes charges n pieces of size bytes each, without overflow.
func (m *meter) chargeTimes(n, size int) error {
	if n <= 0 || size <= 0 {
		return nil
	}
	if int64(n) > (m.bytes+m.reserve)/int64(size) {
		return m.charge(-1)
	}
	return m.charge(n * size)
}

// Sizes charged for values, in bytes.
const (
	sizeValue = 16 // an element of a list
	sizeEntry = 48 // an entry of a dict
	sizeList  = 48 // the header of a list or tuple
)

// enter enters a call. The caller calls leave afterwards.
func (m *meter) enter() error {
	if m.depth >= m.maxDepth {
		return budgetErr("the template exceeds its call depth of %d", m.maxDepth)
	}
	m.depth++
	return m.step()
}

func (m *meter) leave() { m.depth-- }
