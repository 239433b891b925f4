package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"
)

// ErrInvalid is the sentinel of every error about a setting.
var ErrInvalid = errors.New("invalid configuration")

// Validator is implemented by settings that depend on each other.
type Validator interface {
	// Validate returns the conflicts with the names of the settings. It may derive settings from others.
	Validate() error
}

// Load reads the settings struct T from the environment. The error names every invalid setting.
func Load[T any]() (T, error) {
	return LoadFrom[T](environ())
}

// LoadFrom is Load with explicit variables.
func LoadFrom[T any](variables map[string]string) (T, error) {
	var settings T
	fields, err := Fields[T]()
	if err != nil {
		return settings, err
	}
	if err := checkRenamed(variables, renamedSettings); err != nil {
		return settings, err
	}
	resolved, err := readFiles(fields, variables)
	if err != nil {
		return settings, err
	}
	if err := env.ParseWithOptions(&settings, env.Options{Environment: resolved}); err != nil {
		return settings, parseError[T](fields, resolved, err)
	}
	if v, ok := any(&settings).(Validator); ok {
		if err := v.Validate(); err != nil {
			return settings, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return settings, nil
}

// parseError returns an error for each variable that does not parse. The parser names only Go fields, and several
// structs have fields of one name, so each variable is parsed alone.
func parseError[T any](fields []Field, variables map[string]string, all error) error {
	var errs []error
	named := map[string]bool{}
	for _, f := range fields {
		value, set := variables[f.Name]
		if !set || named[f.Name] {
			continue
		}
		var alone T
		err := env.ParseWithOptions(&alone, env.Options{Environment: map[string]string{f.Name: value}})
		if err == nil {
			continue
		}
		named[f.Name] = true
		errs = append(errs, f.invalid(value, err))
	}
	if len(errs) == 0 {
		return fmt.Errorf("%w: %w", ErrInvalid, all)
	}
	return errors.Join(errs...)
}

// invalid returns the error of a value that does not parse. It does not contain the value of a secret.
func (f Field) invalid(value string, err error) error {
	if parse, ok := errors.AsType[env.ParseError](err); ok {
		err = parse.Err
	}
	switch {
	case f.Secret:
		return fmt.Errorf("%w: %s: not a valid %s", ErrInvalid, f.Name, f.Type)
	case f.Type == "integer", f.Type == "number", f.Type == "true or false":
		return fmt.Errorf("%w: %s=%q: expected %s", ErrInvalid, f.Name, value, map[string]string{
			"integer": "an integer", "number": "a number", "true or false": "true or false",
		}[f.Type])
	case f.Type == "duration":
		return fmt.Errorf("%w: %s=%q: expected a duration with a unit, such as 1.5s, 10m or 24h", ErrInvalid, f.Name, value)
	}
	return fmt.Errorf("%w: %s=%q: %w", ErrInvalid, f.Name, value, err)
}

// fileSuffix ends the name of a variable that names a file with the value of a setting.
const fileSuffix = "_FILE"

// readFiles replaces each variable NAME_FILE by a NAME with the file's text, without a trailing line break.
func readFiles(fields []Field, variables map[string]string) (map[string]string, error) {
	resolved := make(map[string]string, len(variables))
	maps.Copy(resolved, variables)
	var errs []error
	for _, f := range fields {
		path := variables[f.Name+fileSuffix]
		if path == "" {
			continue
		}
		if variables[f.Name] != "" {
			errs = append(errs, fmt.Errorf("%w: both %s and %s_FILE are set", ErrInvalid, f.Name, f.Name))
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: read %s_FILE: %w", ErrInvalid, f.Name, err))
			continue
		}
		resolved[f.Name] = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	}
	return resolved, errors.Join(errs...)
}

// Environment returns the variables of the environment with overrides, such as those of flags. An override also replaces
// the variable NAME_FILE.
func Environment(overrides map[string]string) map[string]string {
	variables := environ()
	for name, value := range overrides {
		delete(variables, name+fileSuffix)
		variables[name] = value
	}
	return variables
}

func environ() map[string]string {
	variables := map[string]string{}
	for _, entry := range os.Environ() {
		if name, value, found := strings.Cut(entry, "="); found {
			variables[name] = value
		}
	}
	return variables
}
