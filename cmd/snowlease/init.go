package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/lease"
)

func initCommand() *cobra.Command {
	var (
		store   = storeFlags{creates: true}
		request requestFlags
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "init --namespace NS [flags]",
		Short: "Create a namespace with exact times from the first id on",
		Long: `Init creates a namespace. It is optional. Without it, the first start of a service cannot
tell a new namespace from a lost one: ids come after the skew and a quarter of a second,
and carry times up to max-ttl ahead until the clock catches up. After init, the first ids
come at once and carry exact times.

Use it only for a namespace of which no process has ever held a worker id. If anything of
the namespace exists, init changes nothing and exits with 3. Layout, max-ttl and skew must
match the application's configuration: init pins the namespace to them.`,
		Example: `  snowlease init --store redis://127.0.0.1:6379 --namespace orders
  ` + envStore + `='mysql://app:word@db/orders' snowlease init --config orders.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := request.complete(cmd, &store); err != nil {
				return err
			}
			if err := store.complete(false); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *opened) error {
				r := request.request
				err := o.Init(ctx, r)
				if errors.Is(err, lease.ErrExists) {
					return failure{exitNo, fmt.Errorf("%w: namespace %q at %s; nothing changed", err, r.Namespace, o)}
				}
				if err != nil {
					return err
				}
				return answer(cmd, asJSON, map[string]string{"namespace": r.Namespace, "store": o.String(), "pin": r.Pin().String()},
					"created namespace %q at %s: %s\n", r.Namespace, o, r.Pin())
			})
		},
	}
	store.register(cmd)
	request.register(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}
