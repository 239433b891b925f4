// Command restjsongen writes the encoders of hot messages: straight-line Go for what package restjson otherwise does
// by reflection, byte for byte the same.
//
//	cd pkg && go run -tags restjson_reflective ./restjson/cmd/restjsongen
//
// The tag builds restjson without its generated encoders, so that a changed proto file, with which the old ones no
// longer compile, does not keep the new ones from being written.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "restjson/generated_encoders.go", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "restjsongen:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	text, err := generate(hot)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write encoders: %w", err)
	}
	return nil
}
