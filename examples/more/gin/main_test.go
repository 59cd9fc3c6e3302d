package main

import (
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
	call := func(method, path, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		engine.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return answer
	}
	require.Equal(t, http.StatusServiceUnavailable, call(http.MethodGet, "/readyz", "").Code, "before the start")
	app.RequireStart()
	defer app.RequireStop()

	first := call(http.MethodPost, "/orders", `{"total":5,"id":"7"}`)
	require.Equal(t, http.StatusCreated, first.Code)
	require.Regexp(t, `^\{"id":"\d{18}","total":5\}$`, first.Body)
	require.Greater(t, call(http.MethodPost, "/orders", `{"total":5}`).Body.String(), first.Body.String(), "ids rise")
	require.Equal(t, http.StatusBadRequest, call(http.MethodPost, "/orders", `{}`).Code)
	ready := call(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, ready.Code)
	require.Contains(t, ready.Body.String(), `"state":"ready"`)
}
