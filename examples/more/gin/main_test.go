package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
)

func TestService(t *testing.T) {
	t.Parallel()
	var engine *gin.Engine
	app := fxtest.New(t, wiring(filepath.Join(t.TempDir(), "gin.db")), fx.Populate(&engine))
	contentType := "application/json"
	call := func(method, path, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		engine.ServeHTTP(answer, r)
		return answer
	}
	require.Equal(t, http.StatusServiceUnavailable, call(http.MethodGet, "/readyz", "").Code, "before the start")
	app.RequireStart()
	defer app.RequireStop()

	first := call(http.MethodPost, "/orders", `{"total":5}`)
	require.Equal(t, http.StatusCreated, first.Code)
	require.Regexp(t, `^\{"id":"ord_\w{26}","total":5\}$`, first.Body)
	var order Order
	require.NoError(t, json.Unmarshal(first.Body.Bytes(), &order))
	again := call(http.MethodGet, "/orders/"+order.ID.String(), "")
	require.Equal(t, first.Body.String(), again.Body.String())
	second := call(http.MethodPost, "/orders", first.Body.String())
	require.Equal(t, http.StatusCreated, second.Code)
	require.NotEqual(t, first.Body.String(), second.Body.String(), "a client does not choose the id")
	contentType = "text/plain"
	require.Equal(t, http.StatusUnsupportedMediaType, call(http.MethodPost, "/orders", `{"total":5}`).Code, "by another site")
	contentType = "application/json"
	for path, want := range map[string]string{fmt.Sprintf("%d", order.ID): "is not an id of kind ord", (order.ID + 999).String(): "there is no order ord_"} {
		missing := call(http.MethodGet, "/orders/"+path, "")
		require.Equal(t, http.StatusNotFound, missing.Code)
		require.Contains(t, missing.Body.String(), want)
	}
	require.Equal(t, http.StatusBadRequest, call(http.MethodPost, "/orders", `{"total":5,"id":7}`).Code)
	require.Equal(t, http.StatusBadRequest, call(http.MethodPost, "/orders", `{}`).Code)
	ready := call(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, ready.Code)
	require.Contains(t, ready.Body.String(), `"state":"ready"`)
}
