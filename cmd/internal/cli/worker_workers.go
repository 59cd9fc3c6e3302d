package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

func workersCommand(p program) *cobra.Command {
	var (
		store       storeFlags
		asJSON, all bool
	)
	cmd := &cobra.Command{
		Use:   "workers [--namespace NS] [flags]",
		Short: "Show who holds which worker id",
		Long: `Workers shows the worker ids of a namespace: the state, the holder and the start of its
lease, the end of the lease unless renewed, the mark (no id of the worker id has a later
time), and the token for "snowlease release". Times are by the store's clock.

States: lent; ahead (free, but its next ids carry times in the future); free.`,
		Example: `  snowlease workers --namespace orders
  snowlease workers --namespace orders --all --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return store.run(cmd, func(ctx context.Context, o *target.Opened) error {
				v, err := readWorkers(ctx, o, store.namespace, all)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
				}
				return v.print(cmd.OutOrStdout())
			})
		},
	}
	store.register(cmd, p)
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "include free worker ids")
	return cmd
}

// workerView is a snapshot of a namespace.
type workerView struct {
	Namespace  string `json:"namespace"`
	Store      string `json:"store"`
	Now        string `json:"now"`
	Pin        string `json:"pin"`
	Lent       int    `json:"lent"`
	Pool       int    `json:"pool"`
	Quarantine string `json:"quarantine_until,omitempty"`
	Reason     string `json:"quarantine_reason,omitempty"`
	ahead      string
	retired    bool
	Fault      string       `json:"fault,omitempty"`
	Workers    []workerLine `json:"workers"`
}

type workerLine struct {
	Worker  int64  `json:"worker"`
	State   string `json:"state"`
	Holder  string `json:"holder,omitempty"`
	Since   string `json:"since,omitempty"`
	Expires string `json:"expires,omitempty"`
	Mark    string `json:"mark,omitempty"`
	Token   int64  `json:"token"`
}

func stateOf(s lease.Slot) string {
	switch {
	case s.Expires >= s.Now:
		return "lent"
	case s.Free():
		return "free"
	}
	return "ahead"
}

func readWorkers(ctx context.Context, o *target.Opened, namespace string, all bool) (v workerView, err error) {
	rec, err := o.Record(ctx, namespace)
	if errors.Is(err, lease.ErrUnknown) {
		return v, fmt.Errorf("%w: check the spelling of %s, --prefix and --store", err, namespace)
	}
	if err != nil {
		return v, err
	}
	slots, err := o.Slots(ctx, namespace)
	if err != nil {
		return v, err
	}
	v = workerView{Namespace: namespace, Store: o.String(), Now: at(rec.Now), Pin: printable.Text(rec.Pin.String()), Pool: len(slots), Workers: []workerLine{}}
	v.retired = rec.Pin.Retired
	if rec.Quarantined() {
		v.Quarantine, v.Reason, v.ahead = at(rec.Quarantine), printable.Text(rec.Reason), ahead(rec)
	}
	if text := late(rec, slots); text != "" {
		v.Fault = text + `: see "snowlease doctor"`
	}
	for _, s := range slots {
		state := stateOf(s)
		if state == "lent" {
			v.Lent++
		}
		if state == "free" && !all {
			continue
		}
		v.Workers = append(v.Workers, workerLine{
			Worker: s.Worker, State: state, Holder: printable.Text(s.Holder), Since: at(s.Since), Expires: at(s.Expires), Mark: at(s.HighWater), Token: s.Token,
		})
	}
	return v, nil
}

// lossOf describes the reason for a quarantine. By then, the records exist again.
func lossOf(reason string) string {
	if reason == lease.NothingOnRecord {
		reason = "a process found nothing on record for this namespace (a first start looks the same)"
	}
	return "possible loss of records: " + cmp.Or(reason, "no reason was recorded")
}

// ahead describes the effect of a quarantine on ids.
func ahead(rec lease.Record) string {
	d := time.Duration(rec.Quarantine-rec.Now) * time.Millisecond
	if rec.Pin.Err() == nil {
		d = min(d, rec.Pin.MaxTTL)
	}
	return fmt.Sprintf("ids under newly lent worker ids carry times up to %v ahead until %s; with exact_times, none is lent until then",
		d.Round(100*time.Millisecond), at(rec.Quarantine))
}

func (v workerView) print(w io.Writer) error {
	fmt.Fprintf(w, "%s at %s: %d of %d worker ids are lent at %s\n", v.Namespace, v.Store, v.Lent, v.Pool, v.Now)
	if v.retired {
		fmt.Fprintln(w, "it is", v.Pin)
	}
	if v.Quarantine != "" {
		fmt.Fprintf(w, "%s\n%s\n", lossOf(v.Reason), v.ahead)
	}
	if v.Fault != "" {
		fmt.Fprintln(w, v.Fault)
	}
	t := columns(w)
	for i, l := range v.Workers {
		if i == 0 {
			fmt.Fprintln(t, "WORKER\tSTATE\tHOLDER\tSINCE\tEXPIRES\tMARK\tTOKEN")
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%d\n", l.Worker, l.State, l.Holder, l.Since, l.Expires, l.Mark, l.Token)
	}
	return t.Flush()
}
