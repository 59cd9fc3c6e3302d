package snowflake_test

import (
	"encoding/json"
	"fmt"

	"github.com/snowlease/snowlease/snowflake"
)

// An ID is a string in JSON, so JavaScript does not round it.
func ExampleID() {
	var order struct {
		ID snowflake.ID `json:"id"`
	}
	if err := json.Unmarshal([]byte(`{"id": 175928847299117063}`), &order); err != nil {
		fmt.Println(err)
	}
	b, _ := json.Marshal(order)
	fmt.Println(string(b))
	_, err := snowflake.ParseID("17592884729911706E")
	fmt.Println(err)
	// Output:
	// {"id":"175928847299117063"}
	// snowflake: parse id "17592884729911706E": character 'E' at 17 is no digit
}

// Any Layout decodes its ids, and the presets decode those of other issuers.
func ExampleLayout_Decode() {
	p, err := snowflake.Discord().Decode(175928847299117063)
	fmt.Println(p.Time, p.Worker, p.Sequence, err)
	// Output: 2016-04-30 11:18:25.796 +0000 UTC 32 7 <nil>
}

func ExampleLayout_String() {
	fmt.Println(snowflake.Layout{})
	fmt.Println(snowflake.JSSafe(), "ends", snowflake.JSSafe().Ends().UTC().Year())
	// Output:
	// epoch=1577808000000 unit=1ms bits=41/5/0/17
	// epoch=1577808000000 unit=1ms bits=41/6/0/6 ends 2089
}
