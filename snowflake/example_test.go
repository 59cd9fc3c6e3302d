package snowflake_test

import (
	"fmt"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Generator issues ids within a time range that it is lent, usually by package lease.
// Here the range is made by hand.
func Example() {
	gen, err := snowflake.NewGenerator(snowflake.Layout{})
	if err != nil {
		panic(err)
	}
	now := time.Now().UnixMilli()
	_, err = gen.Adopt(snowflake.Range{Worker: 7, Floor: now - 1, Ceiling: now + 30_000, Now: now, At: gen.Elapsed()})
	if err != nil {
		panic(err)
	}

	a, _ := gen.NextID()
	b, _ := gen.NextID()
	p, _ := gen.Layout().Decode(a)
	fmt.Println(a < b, p.Worker)
	// Output: true 7
}

func ExampleLayout_String() {
	fmt.Println(snowflake.Layout{})
	fmt.Println(snowflake.JSSafe(), "ends", snowflake.JSSafe().Ends().UTC().Year())
	// Output:
	// epoch=1577808000000 unit=1ms bits=41/5/0/17
	// epoch=1577808000000 unit=1ms bits=41/6/0/6 ends 2089
}
