// Core prints an id of the generator alone, with a fixed worker id.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

func main() {
	g := generator.New(snowflake.Layout{})
	now := time.Now().UnixMilli()
	if _, err := g.Adopt(generator.Range{Worker: 1, Floor: now - 1, Ceiling: now + 60_000, Now: now, At: g.Elapsed()}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.NextID())
}
