// Watermill publishes a message whose id is the public id of an order. A consumer can tell
// a message that it has seen by the id, and where it came from.
//
//	cd examples/frameworks && go run ./watermill
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/examples/frameworks/shop"
	"github.com/snowlease/snowlease/publicid"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	worker, closer, err := shop.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }()
	events, err := publicid.New("evt")
	if err != nil {
		return err
	}
	channel := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	defer func() { err = errors.Join(err, channel.Close()) }()

	id, err := worker.NextIDWait(ctx)
	if err != nil {
		return err
	}
	text, err := events.Encode(id)
	if err != nil {
		return err
	}
	if err := channel.Publish("orders", message.NewMessage(text, []byte(`{"total":5}`))); err != nil {
		return err
	}

	received, err := channel.Subscribe(ctx, "orders")
	if err != nil {
		return err
	}
	m := <-received
	defer m.Ack()
	id, err = events.Decode(m.UUID)
	if err != nil {
		return err
	}
	parts, err := worker.Decode(id)
	if err != nil {
		return err
	}
	fmt.Println(m.UUID, "by worker", parts.Worker)
	return nil
}
