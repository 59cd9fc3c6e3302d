// Package option has the options of constructors.
package option

import "errors"

// An Option sets fields of a T. Only a Func implements it. A package embeds an alias of it in an
// exported interface, so that its documentation does not show T.
type Option[T any] interface{ set(t *T) error }

// A Func is an Option.
type Func[T any] func(t *T) error

func (f Func[T]) set(t *T) error { return f(t) }

// All returns an option that sets all of opts, except nil. Its error joins theirs.
func All[T any, O Option[T]](opts []O) Func[T] {
	return func(t *T) error {
		var errs []error
		for _, o := range opts {
			if any(o) != nil {
				errs = append(errs, o.set(t))
			}
		}
		return errors.Join(errs...)
	}
}
