package ordernumber_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers/ordernumber"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/numbers/series"
)

// numbers stands for Numbers of a dbseq.Center.
func numbers() segment.Store { return new(segmentcheck.Memory) }

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

// Numbers that begin anew each day, with the shard of a user and a check digit. The codec has no
// Zone of its own, since the period of a number is a date.
func Example_series() {
	ctx := context.Background()
	orders, err := series.Open(ctx, numbers(), series.Config{Namespace: "shop", Name: "orders", Period: series.Day, Zone: "America/Sao_Paulo"})
	if err != nil {
		log.Fatal(err)
	}
	codec, err := ordernumber.New(ordernumber.Config{Digits: 6, Check: true})
	if err != nil {
		log.Fatal(err)
	}
	number, err := orders.Next(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	text, err := codec.Format(number.Period, number.Value, 1057)
	if err != nil {
		log.Fatal(err)
	}
	parts, err := codec.Parse(text)
	fmt.Println(len(text), "digits, number", parts.Number, "in shard", parts.Gene, err)
	fmt.Println(text[:8] == number.Period.Format("20060102"))
	// Output:
	// 17 digits, number 1 in shard 57 <nil>
	// true
}
