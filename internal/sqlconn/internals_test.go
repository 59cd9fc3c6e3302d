package sqlconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

type (
	coded     struct{ Code int }
	numbered  struct{ Number uint16 }
	worded    struct{ Code string }
	method    struct{}
	withState string
)

func (coded) Error() string       { return "coded" }
func (numbered) Error() string    { return "numbered" }
func (worded) Error() string      { return "worded" }
func (method) Error() string      { return "method" }
func (method) Code() int          { return 5 }
func (s withState) Error() string { return "state " + string(s) }

// SQLState is a method of the errors of PostgreSQL drivers.
func (s withState) SQLState() string { return string(s) }

func TestCodesOfDrivers(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int64][]error{
		5: {coded{5}, &coded{5}, method{}, numbered{5}, fmt.Errorf("query: %w", coded{5}), errors.Join(errors.New("no code"), coded{5}), fmt.Errorf("%w and %w", worded{"x"}, coded{5})},
		0: {nil, errors.New("x"), worded{"7"}, errors.Join(errors.New("a"), errors.New("b"))},
	} {
		for _, err := range errs {
			number, state := codeOf(err)
			require.Equal(t, want, number, "%v", err)
			require.Empty(t, state)
		}
	}
	_, state := codeOf(fmt.Errorf("query: %w", withState("40001")))
	require.Equal(t, "40001", state)
}

// oldDriver is a driver without connectors, whose connections refuse every statement.
type oldDriver struct{}

func (oldDriver) Open(string) (driver.Conn, error) { return refusing{}, nil }

type refusing struct{ driver.Conn }

var errRefused = errors.New("refused")

func (refusing) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, errRefused
}
func (refusing) Close() error { return nil }

func TestConnector(t *testing.T) {
	t.Parallel()
	c, err := newConnector(oldDriver{}, &sqlite, "app.db")
	require.NoError(t, err)
	require.Equal(t, oldDriver{}, c.Driver())
	_, err = c.Connect(t.Context())
	require.ErrorIs(t, err, errRefused, "the connection cannot be set up")

	c, err = newConnector(oldDriver{}, &postgres, "host=app")
	require.NoError(t, err)
	_, err = c.Connect(t.Context())
	require.NoError(t, err, "nothing to set up")
}

// TestFaultsThatPass: a start waits for a server that is starting, that has too many
// connections, or that a failover has made read-only.
func TestFaultsThatPass(t *testing.T) {
	t.Parallel()
	for _, e := range []error{
		withState("57P03"), withState("57P01"), withState("53300"), withState("25006"), withState("08006"),
		numbered{1040},
		numbered{1053},
		numbered{1047},
		numbered{1290},
		driver.ErrBadConn, context.DeadlineExceeded,
	} {
		for name, d := range dialects {
			c := &Conn{dialect: d}
			require.NotErrorIs(t, c.Wrap(t.Context(), "acquire", e), lease.ErrSetup, "%s %v", name, e)
		}
	}
}
