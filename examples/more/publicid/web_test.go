package publicid

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/publicid"
)

var orderIDs = publicid.Must(publicid.NewSealed("ord", []byte("a secret of the tests, 32 bytes.")))

type order struct {
	ID    publicid.ID[order]  `bun:"id,pk,type:bigint" db:"id" json:"id" uri:"id" param:"id"`
	After *publicid.ID[order] `bun:"after" db:"after" json:"after" form:"after" query:"after"`
}

func (order) Codec() *publicid.Codec { return orderIDs }

const (
	id   = 912338055136935936
	text = "ord_36mwvs7er4ssmnnmzc1g4fzdwm"
)

// Each router reads an id from a path, and from a path and a query that it binds to a
// struct. A number or the id of another kind is refused, also where the router would read
// a number into an int64.
func TestRouters(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	ginRouter, echoRouter, chiRouter := gin.New(), echo.New(), chi.NewRouter()
	inGin := func(read func(*gin.Context, *order) error) gin.HandlerFunc {
		return func(c *gin.Context) {
			var o order
			if err := read(c, &o); err != nil {
				c.String(http.StatusBadRequest, err.Error())
				return
			}
			c.JSON(http.StatusOK, o)
		}
	}
	ginRouter.GET("/orders/:id", inGin(func(c *gin.Context, o *order) (err error) {
		o.ID, err = publicid.Parse[order](c.Param("id"))
		return err
	}))
	ginRouter.GET("/bound/:id", inGin(func(c *gin.Context, o *order) error { return c.ShouldBindUri(o) }))
	ginRouter.GET("/query", inGin(func(c *gin.Context, o *order) error { return c.ShouldBindQuery(o) }))

	inEcho := func(read func(echo.Context, *order) error) echo.HandlerFunc {
		return func(c echo.Context) error {
			var o order
			if err := read(c, &o); err != nil {
				return c.String(http.StatusBadRequest, err.Error())
			}
			return c.JSON(http.StatusOK, o)
		}
	}
	echoRouter.GET("/orders/:id", inEcho(func(c echo.Context, o *order) (err error) {
		o.ID, err = publicid.Parse[order](c.Param("id"))
		return err
	}))
	echoRouter.GET("/bound/:id", inEcho(func(c echo.Context, o *order) error { return c.Bind(o) }))
	echoRouter.GET("/query", inEcho(func(c echo.Context, o *order) error { return c.Bind(o) }))

	chiRouter.Get("/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := publicid.Parse[order](chi.URLParam(r, "id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(order{ID: id})
	})

	for name, router := range map[string]http.Handler{"gin": ginRouter, "echo": echoRouter, "chi": chiRouter} {
		paths := []string{"/orders/%s", "/bound/%s", "/query?after=%s"}
		if name == "chi" {
			paths = paths[:1]
		}
		for _, path := range paths {
			for _, given := range []string{text, fmt.Sprint(id), "cus_0saa6m2dr40006", "0", text + "x"} {
				rec := httptest.NewRecorder()
				router.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf(path, given), nil))
				if given != text {
					require.Equal(t, http.StatusBadRequest, rec.Code, "%s %s %s", name, path, given)
					require.Contains(t, rec.Body.String(), "is not an id of kind ord")
					continue
				}
				require.Equal(t, http.StatusOK, rec.Code, "%s %s: %s", name, path, rec.Body)
				require.Contains(t, rec.Body.String(), `"`+text+`"`)
				require.NotContains(t, rec.Body.String(), fmt.Sprint(id))
			}
		}
	}
}
