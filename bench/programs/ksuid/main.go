// Ksuid prints an id of segmentio/ksuid.
package main

import (
	"fmt"

	"github.com/segmentio/ksuid"
)

func main() {
	fmt.Println(ksuid.New())
}
