package series

import (
	"container/list"
	"sync"
)

// A scopeState is what a process has of a scope: the numbers from next to last, and last as the
// greatest that it was ever given.
type scopeState struct{ next, last int64 }

// A scope is a scopeState that one call at a time uses.
type scope struct {
	scopeState
	name string
	turn chan struct{}
}

// scopes are those used last.
type scopes struct {
	mu    sync.Mutex
	most  int
	byUse *list.List // of *scope
	names map[string]*list.Element
	era   int64 // how often all were forgotten
}

func newScopes(most int) *scopes {
	s := &scopes{most: most}
	s.forget()
	return s
}

func (s *scopes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byUse, s.names = list.New(), map[string]*list.Element{}
	s.era++
}

// now returns the era.
func (s *scopes) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// of returns a scope and its era, and forgets the one that was not used for the longest time if
// there are too many.
func (s *scopes) of(name string) (*scope, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.names[name]; ok {
		s.byUse.MoveToFront(e)
		return e.Value.(*scope), s.era //nolint:forcetypeassert // nothing else is in the list
	}
	if oldest := s.byUse.Back(); s.byUse.Len() >= s.most {
		delete(s.names, s.byUse.Remove(oldest).(*scope).name) //nolint:forcetypeassert // as above
	}
	one := &scope{name: name, turn: make(chan struct{}, 1)}
	s.names[name] = s.byUse.PushFront(one)
	return one, s.era
}
