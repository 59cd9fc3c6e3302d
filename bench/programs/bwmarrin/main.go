// Bwmarrin prints an id of bwmarrin/snowflake.
package main

import (
	"fmt"

	"github.com/bwmarrin/snowflake"
)

func main() {
	node, err := snowflake.NewNode(1)
	fmt.Println(node.Generate(), err)
}
