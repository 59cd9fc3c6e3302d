// Godruoyi prints an id of godruoyi/go-snowflake.
package main

import (
	"fmt"

	snowflake "github.com/godruoyi/go-snowflake"
)

func main() {
	fmt.Println(snowflake.NextID())
}
