// Package target locates and opens the stores of the command.
package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// EnvStore is the environment variable that names the store in place of --store. It keeps a
// password out of the arguments, which other users of the host can see.
const EnvStore = "SNOWLEASE_STORE"

// A Program is a command for one kind of store.
type Program struct {
	Name string
	// Short is the command's help in one line, and Stores the help on the flag --store. Else is
	// the default of --store if EnvStore is not set. Examines lists the checks of
	// lease.Extras.Examine.
	Short, Stores, Else, Examines string
	// Parse parses the value of --store. Its errors contain no part of the value, which may
	// hold a password.
	Parse func(text string) (Target, error)
	// Default returns the store to use without --store and EnvStore, and its origin for
	// messages.
	Default func() (t Target, from string, err error)
	// Numbers reports whether the stores also keep numbers, and whether the settings durable,
	// wait_replicas and table_prefix apply to them.
	Numbers bool
}

// A Target is the location of a store. Package fmt does not print its password.
type Target interface {
	// Validate returns an error if the client or the driver would refuse the Target. The error
	// contains no password.
	Validate() error
	// Open connects to the store.
	Open(ctx context.Context, with Options) (*Opened, error)
	// Again opens another connection to the store.
	Again(ctx context.Context, with Options) (*Opened, error)
}

// Options are the application's settings for a store.
type Options struct {
	Prefix       string // of keys; "" is the default
	TablePrefix  string // of tables; "" is the default
	Durable      bool
	WaitReplicas int
	Creates      bool   // the command may create a SQLite file
	From         string // the origin of the Target, for errors
}

// A MissingError is the error of Target.Open for a SQLite file that does not exist and that the
// command may not create.
type MissingError struct {
	Store string // the store's name, without secrets
	Err   error
}

func (e *MissingError) Error() string { return e.Err.Error() }

func (e *MissingError) Unwrap() error { return e.Err }

// Segments are the operations of a store of numbers.
type Segments interface {
	numbers.Store
	numberstore.Creator
	fmt.Stringer
	// HighWater returns the greatest number that was reserved under a name.
	HighWater(ctx context.Context, name string) (int64, error)
}

// An Opened store must be closed. Its center has Init.
type Opened struct {
	lease.Center
	lease.Operator
	// Segments opens the numbers in the store.
	Segments func() (Segments, error)

	Closes []func() error
}

// String returns the name of the store.
func (o *Opened) String() string { return lease.Name(o.Center) }

// Close calls all Closes, last first.
func (o *Opened) Close() error {
	var err error
	for i := len(o.Closes) - 1; i >= 0; i-- {
		err = errors.Join(err, o.Closes[i]())
	}
	return err
}

// An Authority is a URL after "://", with any number of hosts. Package net/url accepts only
// one host.
type Authority struct {
	User, Password string
	Hosts          []string
	Path           string
	Query          url.Values
	RawQuery       string
}

// ParseAuthority parses a URL after "://". Its errors contain no part of it, which may hold a
// password.
func ParseAuthority(rest string) (a Authority, err error) {
	host, after := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, after = rest[:i], rest[i:]
	}
	if strings.Contains(after, "@") {
		return a, errors.New(`--store: there is an "@" after the host: percent-encode the reserved characters in user and password`)
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, password, _ := strings.Cut(host[:i], ":")
		var err1, err2 error
		a.User, err1 = url.PathUnescape(user)
		a.Password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			return a, errors.New("--store: user or password is not percent-encoded")
		}
		host = host[i+1:]
	}
	a.Hosts = strings.Split(host, ",")
	for _, h := range a.Hosts {
		if !isHost(h) {
			return a, errors.New("--store: the text before the path is not host or host:port: write user:password@host:port")
		}
	}
	a.Path, a.RawQuery, _ = strings.Cut(after, "?")
	a.Path = strings.TrimPrefix(a.Path, "/")
	if a.Query, err = url.ParseQuery(a.RawQuery); err != nil {
		return a, errors.New("--store: the text after the ? is not key=value")
	}
	return a, nil
}

// isHost reports whether h is a host with an optional numeric port. It rejects a user and
// password without a host.
func isHost(h string) bool {
	if inner, ok := strings.CutPrefix(h, "["); ok && strings.HasSuffix(inner, "]") {
		_, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil
	}
	if !strings.Contains(h, ":") {
		return true
	}
	host, port, err := net.SplitHostPort(h)
	if err != nil {
		return false
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// WithPort returns the hosts, with the default port for those without one.
func (a Authority) WithPort(port string) []string {
	var all []string
	for _, h := range a.Hosts {
		if _, _, err := net.SplitHostPort(h); err != nil && h != "" {
			h = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
		if h != "" {
			all = append(all, h)
		}
	}
	return all
}
