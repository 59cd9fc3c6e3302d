package ordernumber_test

import (
	"fmt"
	"log"
	"time"

	"github.com/snowlease/snowlease/numbers/ordernumber"
)

func Example() {
	codec, err := ordernumber.New(ordernumber.Config{Zone: "Asia/Shanghai", Shards: 64, Check: true})
	if err != nil {
		log.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC) // the 22nd in Shanghai
	s, err := codec.Format(at, 1234, 1000)
	fmt.Println(s, err)
	fmt.Println("at most", codec.Capacity(), "in", codec.Len(), "digits")

	parts, err := codec.Parse(s)
	fmt.Printf("%d-%d-%d, number %d, shard %d, %v\n", parts.Year, parts.Month, parts.Day, parts.Number, parts.Gene, err)
	_, err = codec.Parse("2026112200001243401")
	fmt.Println(err)
	// Output:
	// 2026112200001234401 <nil>
	// at most 99999999 in 19 digits
	// 2026-11-22, number 1234, shard 40, <nil>
	// ordernumber: not an order number: "2026112200001243401": the check digit is wrong: was it mistyped?
}
