//go:build go1.27

package peers

import "uuid"

func init() {
	standardUUID = []Maker{{
		Name: "Go's uuid v7", Setting: "default and best",
		Kind: Peer, Best: true, ByTime: true, Bits: 128, Open: wide(
			func(h *hasher) int64 { id := uuid.NewV7(); return h.of(id[:]) },
			func(n int) {
				for range n {
					uuid.NewV7()
				}
			}),
	}}
}
