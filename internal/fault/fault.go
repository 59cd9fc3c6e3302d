// Package fault collects and formats the problems of a configuration, each with its key. It also
// has the advice that the stores of numbers share.
package fault

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// CreateName returns the remedy for a name of package segment that is not in its store. The store
// cannot distinguish a name that it has lost from a name that it never had.
func CreateName(name string) string {
	namespace, name, _ := strings.Cut(name, "/")
	period := ""
	if strings.Contains(name, ".") { // it may be the name of a series
		period = " --period DAY (the first one of the series' period, as 2026-11-01; none for a segment)"
	}
	return fmt.Sprintf("snowlease segment create --namespace %s --name %s --start N%s creates it; N is 1 only if no number was ever issued: otherwise stop the processes that use it, and choose N above all its numbers", namespace, name, period)
}

// Told returns err with a printable message that is computed only once, or nil. A status is read
// often, and computing the message may take long.
func Told(err error) error { return printable.Error(err, strings.Clone) }

// Nil reports whether v is nil, or an interface that holds a nil pointer.
func Nil(v any) bool {
	p := reflect.ValueOf(v)
	return !p.IsValid() || p.Kind() == reflect.Pointer && p.IsNil()
}

// A Fault is a problem of one key of a configuration.
type Fault struct {
	In      string // the configuration, such as "segment: config"
	Key     string // in snake_case, such as "max_step" or "sources[1]"
	Value   any    // nil if there is none to show
	Problem string // the problem and the remedy, such as "is not 1 to 10"
	Err     error  // the cause, if Problem is empty
}

// Error returns In, a colon, and Text.
func (f *Fault) Error() string { return f.In + ": " + f.Text() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Text returns "key value problem", or "key: cause".
func (f *Fault) Text() string {
	var b strings.Builder
	b.WriteString(f.Key)
	if v := reflect.Indirect(reflect.ValueOf(f.Value)); v.IsValid() {
		if v.Kind() == reflect.String {
			b.WriteString(" " + printable.Quote(v.String()))
		} else {
			fmt.Fprintf(&b, " %v", v.Interface())
		}
	}
	if f.Problem != "" {
		b.WriteString(" " + f.Problem)
	}
	if f.Err != nil {
		fmt.Fprintf(&b, ": %v", f.Err)
	}
	return b.String()
}

// A List collects the problems of a configuration.
type List struct {
	In  string
	all []*Fault
}

// Check adds a problem of the value of a key if bad is set. problem includes the remedy.
func (l *List) Check(key string, value any, bad bool, problem string, args ...any) {
	if bad {
		l.all = append(l.all, &Fault{In: l.In, Key: key, Value: value, Problem: fmt.Sprintf(problem, args...)})
	}
}

// Millis reports whether d is in whole milliseconds. If not, it adds a problem.
func (l *List) Millis(key string, d time.Duration) bool {
	whole := d%time.Millisecond == 0
	l.Check(key, d, !whole, "is finer than a millisecond: give whole milliseconds; a number without a unit is nanoseconds")
	return whole
}

// OneOf adds a problem unless value is one of allowed.
func OneOf[T ~string](l *List, key string, value T, allowed ...T) {
	texts := make([]string, len(allowed))
	for i, a := range allowed {
		if value == a {
			return
		}
		texts[i] = string(a)
	}
	l.Check(key, value, true, "is unknown: choose %s", strings.Join(texts, ", "))
}

// Take adds each error that is joined in err. It copies a Fault under the key that name returns
// for its key. Any other error becomes the cause of a Fault of the key name("").
func (l *List) Take(err error, name func(key string) string) {
	switch e := err.(type) { //nolint:errorlint // an error that wraps a fault says more than the fault
	case nil:
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			l.Take(one, name)
		}
	case *Fault:
		f := *e
		f.In, f.Key = l.In, name(e.Key)
		l.all = append(l.all, &f)
	default:
		l.all = append(l.all, &Fault{In: l.In, Key: name(""), Err: err})
	}
}

// All returns the problems in the order in which they were added.
func (l *List) All() []*Fault { return l.all }

// Err returns an error that joins all problems, or nil.
func (l *List) Err() error {
	errs := make([]error, len(l.all))
	for i, f := range l.all {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// Texts collects problems of a configuration as plain errors, which callers do not distinguish.
type Texts struct {
	In   string // the beginning of each error, such as "providers: db."
	errs []error
}

// Check adds an error if bad is set: the key, the value, the problem and the remedy.
func (t *Texts) Check(bad bool, format string, args ...any) {
	if bad {
		t.errs = append(t.errs, fmt.Errorf(t.In+format, args...))
	}
}

// Err returns an error that joins all problems, or nil.
func (t *Texts) Err() error { return errors.Join(t.errs...) }
