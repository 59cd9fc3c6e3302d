package snowflake_test

import (
	"fmt"

	"github.com/snowlease/snowlease/snowflake"
)

func ExampleLayout_String() {
	fmt.Println(snowflake.Layout{})
	fmt.Println(snowflake.JSSafe(), "ends", snowflake.JSSafe().Ends().UTC().Year())
	// Output:
	// epoch=1577808000000 unit=1ms bits=41/5/0/17
	// epoch=1577808000000 unit=1ms bits=41/6/0/6 ends 2089
}
