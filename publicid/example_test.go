package publicid_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/snowlease/snowlease/publicid"
)

// The secret of a service comes from its configuration.
var invoiceIDs = publicid.Must(publicid.NewSealed("inv", []byte("32 bytes or more that are random")))

type Invoice struct {
	ID    publicid.ID[Invoice] `json:"id"`
	Total int64                `json:"total"`
}

func (Invoice) Codec() *publicid.Codec { return invoiceIDs }

func Example() {
	invoice := Invoice{ID: 912338055136935936, Total: 5} // as package gormplugin fills it
	b, err := json.Marshal(invoice)
	fmt.Println(string(b), err)

	id, err := publicid.Parse[Invoice](invoice.ID.String())
	fmt.Println(int64(id), err)
	_, err = publicid.Parse[Invoice]("inv_912338055136935936")
	fmt.Println(err)
	// Output:
	// {"id":"inv_56veg1j1scy4tmc5q607f67vs9","total":5} <nil>
	// 912338055136935936 <nil>
	// publicid: "inv_912338055136935936" is not an id of kind inv: 18 characters follow "inv_" instead of 26
}

// A text of another kind is an error, so a path cannot name a row of another table.
func ExampleParse() {
	show := func(w http.ResponseWriter, r *http.Request) {
		id, err := publicid.Parse[Invoice](r.PathValue("id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, "SELECT ... WHERE id = %d\n", id)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /invoices/{id}", show)
	for _, path := range []string{"inv_56veg1j1scy4tmc5q607f67vs9", "cus_0saa6m2dr40006"} {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/invoices/"+path, nil))
		fmt.Print(rec.Code, " ", rec.Body)
	}
	// Output:
	// 200 SELECT ... WHERE id = 912338055136935936
	// 404 publicid: "cus_0saa6m2dr40006" is not an id of kind inv: it does not begin with "inv_"
}

// A plain text is shorter, sorts like its id and hides nothing.
func ExampleNew() {
	customers, err := publicid.New("cus")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := customers.Encode(912338055136935936)
	fmt.Println(text)
	id, _ := customers.Decode(text)
	fmt.Println(id)
	_, err = customers.Decode("cus_0saa6m2rd40006") // two characters are swapped
	fmt.Println(err)
	// Output:
	// cus_0saa6m2dr40006
	// 912338055136935936
	// publicid: "cus_0saa6m2rd40006" is not an id of kind cus: its check character does not fit: it is mistyped
}
