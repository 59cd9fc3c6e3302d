// Yitterredis prints an id of yitter/idgenerator-go under a worker id registered in the
// Redis that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/yitter/idgenerator-go/idgen"
	"github.com/yitter/idgenerator-go/regworkerid"
)

func main() {
	worker := regworkerid.RegisterOne(regworkerid.RegisterConf{Address: os.Args[1], MaxWorkerId: 31, LifeTimeSeconds: 15})
	fmt.Println(idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(uint16(worker))).NewLong())
	regworkerid.UnRegister()
}
