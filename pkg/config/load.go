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
	resolved, err := readFiles(fields, variables)
	if err != nil {
		return settings, err
	}
	if err := env.ParseWithOptions(&settings, env.Options{Environment: resolved}); err != nil {
		return settings, parseError(err)
	}
	if v, ok := any(&settings).(Validator); ok {
		if err := v.Validate(); err != nil {
			return settings, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return settings, nil
}

// parseError joins the errors of all settings.
func parseError(err error) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(all.Errors...))
}

// readFiles replaces each variable NAME_FILE by a NAME with the file's text, without a trailing line break.
func readFiles(fields []Field, variables map[string]string) (map[string]string, error) {
	resolved := make(map[string]string, len(variables))
	maps.Copy(resolved, variables)
	var errs []error
	for _, f := range fields {
		path := variables[f.Name+"_FILE"]
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

func environ() map[string]string {
	variables := map[string]string{}
	for _, entry := range os.Environ() {
		if name, value, found := strings.Cut(entry, "="); found {
			variables[name] = value
		}
	}
	return variables
}
