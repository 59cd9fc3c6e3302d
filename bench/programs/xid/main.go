// Xid prints an id of rs/xid.
package main

import (
	"fmt"

	"github.com/rs/xid"
)

func main() {
	fmt.Println(xid.New())
}
