// Package ids has the kinds of ids that people see.
package ids

import (
	"os"
	"sync"

	"github.com/snowlease/snowlease/publicid"
)

// OrderID is the name of the type in the code that Ent generates.
type OrderID = publicid.ID[Order]

// Order is the kind of an OrderID.
type Order struct{}

// Codec returns the codec of orders.
func (Order) Codec() *publicid.Codec { return orderIDs() }

// orderIDs is made at its first use, since Ent's generator runs without the secret.
var orderIDs = sync.OnceValue(func() *publicid.Codec {
	return publicid.Must(publicid.NewSealed("ord", []byte(os.Getenv("ORDER_ID_SECRET"))))
})
