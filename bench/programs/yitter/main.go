// Yitter prints an id of yitter/idgenerator-go.
package main

import (
	"fmt"

	"github.com/yitter/idgenerator-go/idgen"
)

func main() {
	fmt.Println(idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(1)).NewLong())
}
