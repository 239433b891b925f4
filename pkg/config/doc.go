// Package config reads a service's settings from the environment and documents them.
//
// A service declares its settings as a struct. Its tags are the only place with a setting's name, default and
// description:
//
//	type Config struct {
//		Listen string `env:"ORCH_LISTEN" envDefault:"127.0.0.1:4200" desc:"The address of the API."`
//		Auth   string `env:"ORCH_AUTH_BASIC" secret:"true" desc:"The user:password that clients must send."`
//	}
//
// Every setting NAME may be given as NAME_FILE, the path of a file with the value; container platforms mount secrets
// this way. Secret settings are never printed.
//
//	environment ──▶ NAME_FILE resolved ──▶ parsed by type ──▶ Validate() ──▶ the struct
//	struct tags ──▶ Fields ──▶ Print (--check-config) and Markdown (docs/configuration.md)
//
// A variable with a setting's former name is refused. UnknownSettings finds misspelled names.
package config
