// Command snowlease decodes ids and manages the worker ids of a service.
//
//	snowlease decode 175928847299117063 --preset discord
//	export SNOWLEASE_STORE='redis://127.0.0.1:6379'
//	snowlease doctor --namespace orders --replicas 8
//	snowlease workers --namespace orders
//
// See "snowlease help" for the other commands, and "snowlease completion" for shell completion.
// The command for etcd is snowlease-etcd.
//
// Exit codes:
//
//	0  success
//	1  failure
//	2  wrong usage
//	3  the command ran and the answer is no: doctor or check found faults, init or create
//	   found an existing name, release found another holder, or a confirmation was not
//	   answered with yes
package main

import (
	"github.com/redis/go-redis/v9/logging"

	"github.com/snowlease/snowlease/cmd/internal/cli"
	"github.com/snowlease/snowlease/cmd/internal/cli/sqlredis"
)

func main() {
	logging.Disable() // go-redis logs what its errors already report
	cli.Main(sqlredis.Program)
}
