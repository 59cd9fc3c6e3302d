package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An answer without JSON is an error, not an empty success.
func TestAnswerWithoutJSON(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	write(rec, http.StatusOK, map[string]any{"since": time.UnixMilli(999_999_999_999_999)})
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.JSONEq(t, `{"error": "the answer has no JSON"}`, rec.Body.String())
}
