package fault

import "reflect"

// Nil reports whether v is nil, or an interface that holds a nil pointer.
func Nil(v any) bool {
	p := reflect.ValueOf(v)
	return !p.IsValid() || p.Kind() == reflect.Pointer && p.IsNil()
}
