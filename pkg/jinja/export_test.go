package jinja

import "context"

// Spent renders and returns the steps and bytes charged.
func (t *Template) Spent(ctx context.Context, vars Vars) (steps, bytes int64, err error) {
	rt := t.engine.state(t, vars)
	rt.init(ctx, &t.engine.budget, 0, nil)
	_, err = rt.render()
	return rt.budget.Steps - rt.steps, rt.budget.Bytes - rt.bytes, err
}
