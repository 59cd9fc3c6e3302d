// Package idl has the service of the program kitex.
package idl

import "github.com/cloudwego/kitex/pkg/generic"

// Thrift returns the codec of the service Orders, for the server and for clients.
func Thrift() (generic.Generic, error) {
	idl, err := generic.NewThriftContentProvider("namespace go orders\nservice Orders { i64 create(1: i64 total) }", nil)
	if err != nil {
		return nil, err
	}
	return generic.JSONThriftGeneric(idl)
}
