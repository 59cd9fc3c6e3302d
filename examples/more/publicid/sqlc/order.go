// Package sqlc has code that sqlc generates for a table with a publicid.ID. An override in
// sqlc.yaml names the type of each column, with the model as its kind.
package sqlc

import "github.com/snowlease/snowlease/publicid"

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate

var orderIDs = publicid.Must(publicid.New("ord"))

// Codec makes Order the kind of its id.
func (Order) Codec() *publicid.Codec { return orderIDs }
