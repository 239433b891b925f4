// Command jinjastdio renders templates over the line protocol of package stdio, for a conformance runner.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/jinja/stdio"
)

func main() {
	chainable := flag.Bool("chainable", true, "missing values are ChainableUndefined")
	flag.Parse()
	mode := jinja.Default
	if *chainable {
		mode = jinja.Chainable
	}
	if err := stdio.Run(context.Background(), os.Stdin, os.Stdout, jinja.New(jinja.Options{Undefined: mode})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
