// Uuid prints an id of google/uuid.
package main

import (
	"fmt"

	"github.com/google/uuid"
)

func main() {
	fmt.Println(uuid.NewV7())
}
