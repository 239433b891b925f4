// Package bench compares the engine with CPython's Jinja2 on five templates that are typical of webhooks.
//
// The benchmarks are Go benchmarks:
//
//	go test -bench . -benchmem ./jinja/bench
//
// TestBesideCPython runs both engines, one after the other, and prints the ratios. It needs a Python with jinja2 and
// jinja2-humanize-extension, named by JINJA_BENCH_PYTHON. Without that variable it is skipped:
//
//	JINJA_BENCH_PYTHON=.venv/oracle/bin/python go test -count=1 -v -run TestBesideCPython ./jinja/bench
package bench
