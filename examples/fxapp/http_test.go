package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
)

// A shop is the application without its port, and a server in front of its handler.
type shop struct {
	*httptest.Server
	app    *fxtest.App
	worker *idworker.IdWorker
}

func open(t *testing.T, args ...string) *shop {
	cfg, err := load(append(args, "-once"), nil, io.Discard)
	require.NoError(t, err)
	var (
		s   shop
		h   handlers
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	)
	s.app = fxtest.New(t, wiring(cfg, io.Discard, log), fx.Populate(&h, &s.worker)).RequireStart()
	t.Cleanup(s.app.RequireStop)
	s.Server = httptest.NewServer(h.clients)
	t.Cleanup(s.Close)
	return &s
}

// An answer is a response that was read, which must be JSON.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func do(t *testing.T, method, url, body string) (a answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Close = true // leaves no connection
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	if method != http.MethodHead {
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&a.body))
	}
	a.status, a.header = resp.StatusCode, resp.Header
	return a
}

func get(t *testing.T, url string, status int) map[string]any {
	t.Helper()
	got := do(t, http.MethodGet, url, "")
	require.Equal(t, status, got.status, "%v", got.body)
	return got.body
}

const aTea = `{"customer":{"name":"Zoë","email":"Zoe@Example.org"},"items":[{"product":"tea 茶","quantity":2,"price_cents":450},{"product":"cup","quantity":1,"price_cents":0}]}`

// tour is what everyone can do with the service at url.
func tour(t *testing.T, url string) {
	t.Helper()
	first := do(t, http.MethodPost, url+"/orders", aTea)
	posted := first.body
	require.Equal(t, http.StatusCreated, first.status, "%v", posted)
	id := posted["id"].(string)
	require.Regexp(t, `^ord_\w{14}$`, id)
	require.Equal(t, "/orders/"+id, first.header.Get("Location"))
	require.EqualValues(t, 900, posted["total_cents"])
	customer := posted["customer"].(map[string]any)
	require.Equal(t, "zoe@example.org", customer["email"])
	items := posted["items"].([]any)
	require.Len(t, items, 2)
	ids := map[any]bool{id: true, customer["id"]: true, items[0].(map[string]any)["id"]: true, items[1].(map[string]any)["id"]: true}
	require.Len(t, ids, 4, "each row has an id of its own")

	got := get(t, url+"/orders/"+id, http.StatusOK)
	require.Equal(t, id, got["id"])
	require.Equal(t, posted["number"], got["number"])
	require.Regexp(t, `^INV-20\d\d-\d\d-\d{6}$`, got["number"])
	require.Equal(t, "Zoë", got["customer"].(map[string]any)["name"])
	require.Equal(t, "tea 茶", got["items"].([]any)[0].(map[string]any)["product"])

	again := do(t, http.MethodPost, url+"/orders", aTea).body
	require.Equal(t, customer["id"], again["customer"].(map[string]any)["id"], "the same customer")

	own := do(t, http.MethodPost, url+"/orders", strings.Replace(aTea, "{", `{"id":"ord_0000000000005a",`, 1))
	require.Equal(t, http.StatusCreated, own.status, "%v", own.body)
	require.NotEqual(t, "ord_0000000000005a", own.body["id"], "a client does not choose the id")
	again = own.body

	seen := map[any]bool{}
	next := ""
	for pages := 1; ; pages++ {
		list := get(t, url+"/orders?limit=2"+next, http.StatusOK)
		for _, o := range list["orders"].([]any) {
			seen[o.(map[string]any)["id"]] = true
		}
		if pages == 1 {
			require.Equal(t, again["id"], list["orders"].([]any)[0].(map[string]any)["id"], "newest first")
		}
		if list["next"] == nil {
			break
		}
		next = "&before=" + list["next"].(string)
	}
	require.True(t, seen[id] && seen[again["id"]])
	require.GreaterOrEqual(t, len(seen), 5)

	worker := get(t, url+"/readyz", http.StatusOK)["status"].(map[string]any)["worker"]
	require.Equal(t, worker, get(t, url+"/idworker/api/status", http.StatusOK)["worker"])
	require.Len(t, get(t, url+"/idworker/api/slots", http.StatusOK)["slots"], 32)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Close = true
	page, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(page.Body)
	require.NoError(t, errors.Join(err, page.Body.Close()))
	require.Contains(t, string(body), "invoices</th>")
	require.Equal(t, "/idworker/", page.Request.URL.Path, "a browser that is given the address alone finds the console")
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Equal(t, "ok", get(t, url+"/healthz", http.StatusOK)["status"])
	require.Equal(t, http.StatusOK, do(t, http.MethodHead, url+"/orders", "").status)
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := open(t, "-dsn", newFile(t))
	order := func(change string) string { return strings.Replace(aTea, `"quantity":2`, change, 1) }
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/orders?limit=0", "", 400, `limit "0" is not a number from 1 to 100`},
		{"GET", "/orders?limit=" + strings.Repeat("9", 999), "", 400, strings.Repeat("9", 40) + `" is not`},
		{"GET", "/orders/9223372036854775808", "", 400, "is not an id of kind ord"},
		{"GET", "/orders/ord_0000000000005a", "", 404, "there is no order ord_0000000000005a"},
		{"GET", "/orders/ord_0000000000005b", "", 400, "it is mistyped"},
		{"GET", "/orders?limit=101", "", 400, `limit "101" is not a number from 1 to 100`},
		{"GET", "/orders?before=x", "", 400, `before: publicid: "x" is not an id`},
		{"POST", "/orders", "", 400, "EOF"},
		{"POST", "/orders", "null", 400, "an order has a customer"},
		{"POST", "/orders", order(`"amount":5`), 400, `unknown field "amount"`},
		{"POST", "/orders", order(`"quantity":0`), 400, `items[0] has product "tea 茶", quantity 0 and`},
		{"POST", "/orders", order(`"quantity":-1`), 400, "quantity -1"},
		{"POST", "/orders", order(`"quantity":"2"`), 400, "cannot unmarshal string"},
		{"POST", "/orders", strings.Replace(aTea, "450", "1000000001", 1), 400, "price_cents 1000000001"},
		{"POST", "/orders", strings.Replace(aTea, "Zoë", `a\u0000b`, 1), 400, "an order has a customer"},
		{"POST", "/orders", strings.Replace(aTea, "Zoë", strings.Repeat("x", 101), 1), 400, "an order has a customer"},
		{"POST", "/orders", strings.Replace(aTea, "Zoe@", "Zoe", 1), 400, "an order has a customer"},
		{"POST", "/orders", `{"customer":{"name":"a","email":"a@b"},"items":[]}`, 400, "1 to 100 items"},
		{"POST", "/orders", `{"customer":{"name":"a","email":"a@b"},"items":[` + strings.Repeat(`{},`, 100) + `{}]}`, 400, "1 to 100 items"},
		{"POST", "/orders", `{"customer":{"name":"` + strings.Repeat("x", 64<<10) + `"}}`, 400, "request body too large"},
	} {
		got := do(t, c.method, s.URL+c.path, c.body)
		require.Equal(t, c.status, got.status, "%s %s: %v", c.method, c.path, got.body)
		require.Contains(t, got.body["error"], c.want, "%s %s", c.method, c.path)
	}
	for path, status := range map[string]int{"/orders": 405, "/healthz": 405, "/": 405, "/x": 404, "/orders/1/items": 404} {
		require.Equal(t, status, ask(t, http.MethodDelete, s.URL+path, "", ""), path)
	}
	list := get(t, s.URL+"/orders", http.StatusOK)["orders"]
	require.Len(t, list, len(samples), "nothing was stored")
}

// An answer without JSON is an error, not an empty success.
func TestAnswerWithoutJSON(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	write(rec, http.StatusOK, time.UnixMilli(999_999_999_999_999))
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.JSONEq(t, `{"error": "the answer has no JSON"}`, rec.Body.String())
}

// Without ids the service reports an error and keeps running.
func TestNoIDs(t *testing.T) {
	t.Parallel()
	s := open(t, "-dsn", newFile(t))
	require.NoError(t, s.worker.Close())
	get(t, s.URL+"/healthz", http.StatusOK)
	got := get(t, s.URL+"/readyz", http.StatusServiceUnavailable)
	require.Equal(t, false, got["ready"])
	require.Contains(t, got["reason"], "closed")
	refused := do(t, http.MethodPost, s.URL+"/orders", strings.Replace(aTea, "Zoe@", "new@", 1))
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	require.Contains(t, refused.body["error"], "no ids at the moment")
	get(t, s.URL+"/orders", http.StatusOK)
}

// What a page of another site can send without being asked changes and shows nothing, on any
// address.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := open(t, "-dsn", ":memory:", "-config", file(t, "hosts: [orders]"))
	for _, c := range []struct {
		method, path, host, kind string
		status                   int
	}{
		{"POST", "/orders", "", "text/plain", http.StatusUnsupportedMediaType},
		{"POST", "/orders", "", "", http.StatusUnsupportedMediaType},
		{"POST", "/orders", "", "application/x-www-form-urlencoded", http.StatusUnsupportedMediaType},
		{"POST", "/orders", "", "application/json; charset=utf-8", http.StatusCreated},
		{"GET", "/orders", "evil.example", "", http.StatusMisdirectedRequest},
		{"GET", "/readyz", "evil.example:8080", "", http.StatusMisdirectedRequest},
		{"GET", "/orders", "localhost", "", http.StatusOK},
		{"GET", "/orders", "LOCALHOST:80", "", http.StatusOK},
		{"GET", "/orders", "[::1]:80", "", http.StatusOK},
		{"GET", "/orders", "orders:80", "", http.StatusOK},
	} {
		require.Equal(t, c.status, ask(t, c.method, s.URL+c.path, c.host, c.kind), c)
	}
}

// ask sends a request with headers of its own, and returns the status.
func ask(t *testing.T, method, url, host, kind string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(aTea))
	require.NoError(t, err)
	req.Host, req.Close = host, true
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// With a port of their own, operators' pages are on no other, and it has no orders.
func TestOperatorsPort(t *testing.T) {
	t.Parallel()
	p, clients := serving(t, "-dsn", newFile(t), "-config", file(t, "operators: 0.0.0.0:0"))
	operators := "http://" + p.stderr.await(t, `console=http://([^/]+)/`, p.ended)
	for _, path := range []string{"/idworker/", "/healthz", "/readyz"} {
		require.Equal(t, http.StatusOK, ask(t, http.MethodGet, operators+path, "", ""), path)
		require.Equal(t, http.StatusNotFound, ask(t, http.MethodGet, clients+path, "", ""), path)
		require.Equal(t, http.StatusMisdirectedRequest, ask(t, http.MethodGet, operators+path, "evil.example", ""), path)
	}
	require.Equal(t, http.StatusOK, ask(t, http.MethodGet, clients+"/orders", "", ""))
	require.Equal(t, http.StatusNotFound, ask(t, http.MethodGet, operators+"/orders", "", ""))
	p.stops(t)
}
