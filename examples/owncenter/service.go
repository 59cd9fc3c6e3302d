package main

import (
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
)

// A service stands in for the team's real one. It keeps objects in memory and writes them
// conditionally.
type service struct {
	mu      sync.Mutex
	objects map[string]object
	version int
}

type object struct {
	value []byte
	tag   string
}

func newService() *service { return &service{objects: map[string]object{}} }

// ServeHTTP answers GET, and PUT with If-Match or If-None-Match: *.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, exists := s.objects[r.URL.Path]
	switch match := r.Header.Get("If-Match"); {
	case r.Method == http.MethodGet && exists:
		w.Header().Set("ETag", o.tag)
		_, _ = w.Write(o.value)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	case r.Method != http.MethodPut:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case match == "" && r.Header.Get("If-None-Match") != "*":
		w.WriteHeader(http.StatusPreconditionRequired)
	case match == "" && exists, match != "" && match != o.tag:
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		s.put(r.URL.Path, body)
		w.WriteHeader(http.StatusNoContent)
	}
}

// put replaces an object. Tags are unique.
func (s *service) put(path string, value []byte) {
	s.version++
	s.objects[path] = object{value, strconv.Quote(strconv.Itoa(s.version))}
}

// snapshot saves the objects; restore brings them back.
func (s *service) snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := maps.Clone(s.objects)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.objects)
		for path, o := range kept {
			s.put(path, o.value)
		}
	}
}
