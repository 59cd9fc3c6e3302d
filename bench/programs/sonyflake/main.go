// Sonyflake prints an id of sony/sonyflake/v2.
package main

import (
	"fmt"
	"log"

	"github.com/sony/sonyflake/v2"
)

func main() {
	sf, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return 1, nil }})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sf.NextID())
}
