package testserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// A share is an engine of which all tests of a run can share one server.
type share struct {
	engine   *engine
	variable string   // names the server
	args     []string // for as many connections as several packages need
}

var shares = []share{
	{&mariadb, mariadbVariable, []string{"--max-connections=1000"}},
	{&mysqlEngine, mysqlVariable, []string{"--max-connections=1000"}},
	{&postgres, postgresVariable, []string{"-c", "max_connections=1000"}},
	{&redis, redisVariable, nil},
}

// Each starts a server of each of the engines for a program that runs tests, as in "mariadb",
// and returns the variables that make the tests use them. It leaves out engines whose variable is set, and those that are
// not installed unless CI is true. The servers run until stop; if one ends before, ended is
// called.
func Each(names []string, ended func(error)) (variables []string, stop func() error, err error) {
	var (
		starts   sync.WaitGroup
		mu       sync.Mutex
		errs     []error
		stopping = make(chan struct{})
	)
	for _, name := range names {
		i := slices.IndexFunc(shares, func(s share) bool { return s.engine.key() == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("testserver: no engine is named %s", name)
		}
		share := shares[i]
		if os.Getenv(share.variable) != "" {
			continue
		}
		if err := share.engine.missing(); err != nil {
			if cannot := share.engine.optional && unavailable(share.engine); os.Getenv("CI") == "true" && !cannot {
				errs = append(errs, fmt.Errorf("%s: %w", share.engine.name, err))
			}
			continue
		}
		starts.Go(func() {
			s, err := start(share.engine, share.args, "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			variables = append(variables, share.variable+"="+s.DSN())
			done := s.proc.done
			go func() {
				<-done
				select {
				case <-stopping:
				default:
					ended(fmt.Errorf("%s at %s ended: %s", s.engine.name, s.Addr(), tail(s.log())))
				}
			}()
		})
	}
	starts.Wait()
	stop = sync.OnceValue(func() error { close(stopping); return stopAll() })
	if err := errors.Join(errs...); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return variables, stop, nil
}
