package idworker

import (
	"errors"

	"github.com/snowlease/snowlease/internal/fault"
)

// A ConfigError is one fault of a Config. Config.Validate returns all of them joined;
// errors.As finds the first.
type ConfigError struct {
	// Key is the path of the field in YAML, such as "lease.ttl" or "segments[0].name".
	Key string
	// Value is the value of the field, defaults filled in, or nil if there is none to show.
	Value any
	// Problem is what is wrong with the value, such as "is not 1 to 10". It is empty if Err
	// says it.
	Problem string
	// Fix is what to do, unless Problem or Err says it.
	Fix string
	// Err is the error of the package that found the fault, or nil.
	Err error
}

// Error returns the key and its value, what is wrong and what to do.
func (e *ConfigError) Error() string {
	return "idworker: config: " + (&fault.Fault{Key: e.Key, Value: e.Value, Problem: e.Problem, Fix: e.Fix, Err: e.Err}).Text()
}

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// configErrors joins the faults of l as ConfigErrors.
func configErrors(l *fault.List) error {
	var errs []error
	for _, f := range l.All() {
		errs = append(errs, &ConfigError{Key: f.Key, Value: f.Value, Problem: f.Problem, Fix: f.Fix, Err: f.Err})
	}
	return errors.Join(errs...)
}
