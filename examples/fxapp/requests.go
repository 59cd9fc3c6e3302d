package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snowlease/snowlease/snowflake"
)

// newOrder is the body of POST /orders.
type newOrder struct {
	Customer newCustomer `json:"customer"`
	Items    []newItem   `json:"items"`
}

type newCustomer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type newItem struct {
	Product    string `json:"product"`
	Quantity   int64  `json:"quantity"`
	PriceCents int64  `json:"price_cents"`
}

// Limits of an order. A total is below 2^53 with them.
const (
	maxBody     = 64 << 10
	maxItems    = 100
	maxQuantity = 10_000
	maxPrice    = 1_000_000_000
	maxName     = 100
	maxEmail    = 254
)

// readOrder reads the body of a request and checks it.
func readOrder(w http.ResponseWriter, r *http.Request) (o newOrder, err error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err = d.Decode(&o)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the order")
		}
	}
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return o, bad(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", tooLong.Limit)
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return o, bad(http.StatusBadRequest, `the body is no order: %v: send JSON such as {"customer":{"name":"Ada","email":"ada@example.org"},"items":[{"product":"tea","quantity":2,"price_cents":450}]}`, err)
	}
	o.Customer.Name = strings.TrimSpace(o.Customer.Name)
	o.Customer.Email = strings.ToLower(strings.TrimSpace(o.Customer.Email))
	return o, o.check()
}

// check reports every fault.
func (o newOrder) check() error {
	var faults []string
	fault := func(where string, i int, what string) {
		if i >= 0 {
			where = "items[" + strconv.Itoa(i) + "]." + where
		}
		faults = append(faults, where+" "+what)
	}
	text := func(where string, i int, s string) {
		if n := utf8.RuneCountInString(s); n < 1 || n > maxName || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			fault(where, i, "is not 1 to "+strconv.Itoa(maxName)+" printable characters")
		}
	}
	between := func(where string, i int, n, low, high int64) {
		if n < low || n > high {
			fault(where, i, strconv.FormatInt(n, 10)+" is not "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10))
		}
	}
	text("customer.name", -1, o.Customer.Name)
	if !isEmail(o.Customer.Email) {
		fault("customer.email", -1, "is not name@domain in ASCII, of at most "+strconv.Itoa(maxEmail)+" characters")
	}
	if n := len(o.Items); n < 1 || n > maxItems {
		fault("items", -1, "are "+strconv.Itoa(n)+", not 1 to "+strconv.Itoa(maxItems))
	}
	for i, item := range o.Items[:min(len(o.Items), maxItems)] {
		text("product", i, item.Product)
		between("quantity", i, item.Quantity, 1, maxQuantity)
		between("price_cents", i, item.PriceCents, 0, maxPrice)
	}
	if faults == nil {
		return nil
	}
	return bad(http.StatusBadRequest, "%s", strings.Join(faults, "; "))
}

func isEmail(s string) bool {
	name, domain, ok := strings.Cut(s, "@")
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '@' }
	return ok && name != "" && domain != "" && len(s) <= maxEmail && !strings.ContainsFunc(name+domain, odd)
}

// onlyQuery refuses what is not a parameter of the endpoint, or is there twice.
func onlyQuery(r *http.Request, names ...string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return bad(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	for name, values := range query {
		switch {
		case !slices.Contains(names, name):
			return bad(http.StatusBadRequest, "parameter %q is unknown: known are %q", cut(name), names)
		case len(values) > 1:
			return bad(http.StatusBadRequest, "parameter %q is there %d times", cut(name), len(values))
		}
	}
	return nil
}

// number reads a parameter from 1 to greatest.
func number(r *http.Request, name string, otherwise, greatest int) (int, error) {
	if !r.URL.Query().Has(name) {
		return otherwise, nil
	}
	text := r.URL.Query().Get(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > greatest {
		return 0, bad(http.StatusBadRequest, "%s %q is not a number from 1 to %d", name, cut(text), greatest)
	}
	return n, nil
}

func parseID(text string) (int64, error) {
	id, err := snowflake.ParseID(text, 10)
	switch {
	case err != nil:
		return 0, bad(http.StatusBadRequest, "%v", err)
	case id == 0:
		return 0, bad(http.StatusBadRequest, "an id is greater than 0")
	}
	return int64(id), nil
}

// cut shortens what is shown again.
func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
