// Core prints an id of package snowflake, under a worker id set by hand.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

func main() {
	g, err := snowflake.NewGenerator(snowflake.Layout{})
	if err != nil {
		log.Fatal(err)
	}
	now := time.Now().UnixMilli()
	if _, err := g.Adopt(snowflake.Range{Worker: 1, Floor: now - 1, Ceiling: now + 60_000, Now: now, At: g.Elapsed()}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.NextID())
}
