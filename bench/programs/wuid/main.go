// Wuid prints an id of edwingeng/wuid.
package main

import (
	"fmt"

	"github.com/edwingeng/slog"
	"github.com/edwingeng/wuid/callback/wuid"
)

func main() {
	w := wuid.NewWUID("bench", slog.NewDumbLogger())
	err := w.LoadH28WithCallback(func() (int64, func(), error) { return 1, nil, nil })
	fmt.Println(w.Next(), err)
}
