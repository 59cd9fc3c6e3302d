package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
)

// Mount the console on the port for operators, beside their other pages.
func Example() {
	worker, err := snowlease.Fixed(3, snowlease.Config{})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/idworker/", console.New(console.Config{Workers: []*snowlease.Worker{worker}}))

	server := httptest.NewServer(mux)
	defer server.Close()
	resp, err := http.Get(server.URL + "/idworker/api/status")
	if err != nil {
		panic(err)
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	// Output: 200 OK application/json
}
