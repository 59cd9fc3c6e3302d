package hostseq_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/snowflake"
)

// A center needs nothing but a directory.
func Example() {
	ctx := context.Background()
	layout := snowflake.Layout{}
	dir, err := os.MkdirTemp("", "snowlease") // if Dir is empty, it is a directory of the user
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	center, err := hostseq.New(hostseq.Config{Dir: dir}, layout)
	if err != nil {
		panic(err)
	}
	defer center.Close()

	w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders", Layout: layout})
	if err != nil {
		panic(err)
	}
	id, err := w.NextID()
	fmt.Println(id > 0, err, strings.ReplaceAll(center.Extras().Name, dir, "DIR"))
	fmt.Println(w.Close())
	// Output:
	// true <nil> local (lock in DIR)
	// <nil>
}

// Without a directory, the clock of the host must not be set back across a restart.
func ExampleNew() {
	worker := int64(5)
	center, err := hostseq.New(hostseq.Config{Worker: &worker, Stateless: true}, snowflake.Layout{})
	if err != nil {
		panic(err)
	}
	fmt.Println(center.Extras().Uniqueness)
	// Output:
	// worker id 5 is configured: unique if no other process of the namespace has it; no record is kept, so ids can repeat if the clock is set back across a restart
}
