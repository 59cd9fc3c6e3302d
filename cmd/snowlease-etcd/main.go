// Command snowlease-etcd manages the worker ids of a service on etcd, as the command snowlease
// does on SQL databases and Redis. Commands, flags, output and exit codes are the same.
//
//	export SNOWLEASE_STORE='etcd://etcd-0:2379,etcd-1:2379,etcd-2:2379'
//	snowlease-etcd doctor --namespace orders --replicas 8
//	snowlease-etcd workers --namespace orders
//	snowlease-etcd quarantine --namespace orders --reason 'restored from a snapshot'
//
// See "snowlease-etcd help".
package main

import "github.com/snowlease/snowlease/cmd/internal/cli"

func main() { cli.Main(program) }
