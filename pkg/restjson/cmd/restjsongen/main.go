// Command restjsongen writes the encoders and decoders of hot messages: straight-line Go for what package restjson otherwise
// does by reflection. Encoders write the same bytes. Decoders accept well-formed input only and leave the rest to reflection.
//
//	cd pkg && go run -tags restjson_reflective ./restjson/cmd/restjsongen
//
// The tag builds restjson without the generated files. So the generator compiles even when a changed proto file breaks them.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "restjson", "the directory to write to")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "restjsongen:", err)
		os.Exit(1)
	}
}

// files maps names to contents.
var files = map[string]func() ([]byte, error){
	"generated_encoders.go": func() ([]byte, error) { return generate(hot) },
	"generated_decoders.go": func() ([]byte, error) { return generateDecoders(read) },
}

func run(dir string) error {
	for name, generated := range files {
		text, err := generated()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
