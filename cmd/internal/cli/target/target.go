// Package target locates and opens the stores of the command.
package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn"
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
	// Short is the command's help in one line, and Stores the help on the flag --store. Examines
	// lists the checks of lease.Extras.Examine.
	Short, Stores, Examines string
	// Parse parses the value of --store. Its errors contain no part of the value, which may
	// hold a password.
	Parse func(text string) (Target, error)
	// Numbers reports whether the stores also keep numbers, and whether the settings durable,
	// wait_replicas and table_prefix apply to them.
	Numbers bool
}

// A Target is the location of a store. Package fmt does not print its password.
type Target interface {
	// Open connects o to the store. It returns an error if the client or the driver refuses the
	// Target. The error contains no password, and o must be closed too. It is fs.ErrNotExist for a
	// SQLite file that does not exist and that the command may not create.
	Open(ctx context.Context, o *Opened, with Options) error
}

// Options are the application's settings for a store.
type Options struct {
	Prefix       string // of keys; "" is the default
	TablePrefix  string // of tables; "" is the default
	Durable      bool
	WaitReplicas int
	Creates      bool   // the command may create a SQLite file
	Single       bool   // use one connection for all
	From         string // the origin of the Target, for errors
}

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
	Segments Segments // the numbers in the store; nil on etcd

	Closes []func() error
}

// Use sets the center, whose Close Close calls.
func (o *Opened) Use(c lease.Center) {
	o.Center, o.Operator, o.Closes = c, c.Extras().Operator, append(o.Closes, c.Close)
}

// String returns the name of the store.
func (o *Opened) String() string { return lease.Name(o.Center) }

// Close calls all Closes, last first.
func (o *Opened) Close() error {
	var err error
	for _, c := range slices.Backward(o.Closes) {
		err = errors.Join(err, c())
	}
	return err
}

// An Authority is a URL after "://", with any number of hosts. Package net/url accepts only
// one host.
type Authority struct {
	User, Password string
	Hosts          []string // host:port
	Path, Query    string
}

// ParseAuthority parses a URL after "://". Hosts without a port get the given one. Its errors
// contain no part of the URL, which may hold a password.
func ParseAuthority(rest, port string) (a Authority, err error) {
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
	for h := range strings.SplitSeq(host, ",") {
		if name := strings.Trim(h, "[]"); net.ParseIP(name) != nil || !strings.Contains(h, ":") {
			h = net.JoinHostPort(name, port)
		}
		if dsn.Host(h) == "" {
			return a, errors.New("--store: the text before the path is not host or host:port: write user:password@host:port")
		}
		a.Hosts = append(a.Hosts, h)
	}
	a.Path, a.Query, _ = strings.Cut(strings.TrimPrefix(after, "/"), "?")
	return a, nil
}

// Set stores the values of the query, which has only the names in to.
func (a Authority) Set(to map[string]*string) error {
	query, err := url.ParseQuery(a.Query)
	if err != nil {
		return errors.New("--store: the text after the ? is not key=value")
	}
	for key, values := range query {
		if to[key] == nil {
			return fmt.Errorf("--store: unknown setting: choose %s", strings.Join(slices.Sorted(maps.Keys(to)), ", "))
		}
		*to[key] = values[len(values)-1]
	}
	return nil
}
