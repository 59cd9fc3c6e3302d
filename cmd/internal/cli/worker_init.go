package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

func initCommand(p program) *cobra.Command {
	var (
		store   storeFlags
		request requestFlags
	)
	cmd := &cobra.Command{
		Use:   "init --namespace NS [flags]",
		Short: "Create a namespace with exact times from the first id on",
		Long: `Init creates a namespace. It is optional. Without it, the first start of a service cannot
tell a new namespace from a lost one: the first ids are delayed by the skew and a quarter
of a second, and carry times up to max-ttl ahead until the clock catches up. After init,
the first ids are available immediately and carry exact times.

Use init only for a namespace whose worker ids no process has ever held. If the store has
no record of the namespace, init cannot tell whether it is new or lost, and asks. Never run
init --yes in a script that runs repeatedly, such as a deploy script: after the store was
wiped, it immediately lends the worker ids of running processes again, which causes
duplicate ids.

Init pins the namespace to a layout, the number of worker ids, max-ttl and skew, and
prints them. They must match the application's configuration: name its file with --config.
Init does not read the application's environment variables.

If any record of the namespace exists, init changes nothing and exits with 3, without asking.`,
		Example: `  snowlease init --store redis://127.0.0.1:6379 --namespace orders
  ` + target.EnvStore + `='mysql://app:word@db/orders' snowlease init --config config.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(cmd, false); err != nil {
				return err
			}
			if err := request.complete(cmd, &store); err != nil {
				return err
			}
			if !request.lends() {
				return fmt.Errorf("%s has mode: %s, which lends no worker ids: there is no namespace to create", request.from, request.mode)
			}
			r := request.request
			err := store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				rec, err := o.Record(ctx, r.Namespace)
				if err != nil {
					return err
				}
				return failure{exitNo, existing(o, rec.Pin, r, request.from)}
			})
			if !errors.Is(err, lease.ErrUnknown) && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := store.confirm(cmd, "Nothing is on record for namespace %q. If the records were lost, init leads to duplicate ids.\nAre you sure that no process of snowlease has ever held one of its worker ids?", r.Namespace); err != nil {
				return err
			}
			store.creates = true
			return store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				r.CallerTime = time.Now().UnixMilli() // the answer may have taken minutes
				err := o.Extras().Init(ctx, r)
				if errors.Is(err, lease.ErrExists) {
					return failure{exitNo, fmt.Errorf("%w: namespace %q at %s; nothing changed", err, r.Namespace, o)}
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "created namespace %q at %s, which is now pinned to %s (from %s)\n", r.Namespace, o, r.Pin(), request.from)
				return nil
			})
		},
	}
	store.register(cmd, p)
	request.register(cmd)
	store.registerYes(cmd)
	return cmd
}

// existing returns the error for a namespace that exists, with advice if the request does not
// match its pin.
func existing(o *target.Opened, pin lease.Pin, r lease.Request, from string) error {
	err := fmt.Errorf("%w: namespace %q at %s; nothing changed", lease.ErrExists, r.Namespace, o)
	if fault := pin.Err(); fault != nil {
		return fmt.Errorf("%w: %w", err, fault)
	}
	if _, joins := pin.Join(r); !joins {
		err = fmt.Errorf("%w: it stays pinned to %s: use another namespace for %s (from %s)", err, printable.Text(pin.String()), r.Pin(), from)
	}
	return err
}
