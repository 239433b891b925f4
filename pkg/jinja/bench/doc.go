// Package bench compares the engine with CPython's Jinja2 on five templates of the kind that webhooks use.
//
// The benchmarks are ordinary ones:
//
//	go test -bench . -benchmem ./jinja/bench
//
// The comparison runs both engines, one after the other, and prints the ratios. It needs a Python with
// jinja2 and jinja2-humanize-extension, named by JINJA_BENCH_PYTHON, and is skipped without it:
//
//	JINJA_BENCH_PYTHON=.venv/oracle/bin/python go test -count=1 -v -run TestBesideCPython ./jinja/bench
package bench
