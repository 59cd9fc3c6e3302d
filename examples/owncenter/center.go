package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/snowlease/snowlease/casstore"
)

// A bucket keeps records in objects with conditional writes over HTTP, as in S3, Azure Blob
// and WebDAV. client adds what the service needs, such as signatures.
type bucket struct {
	url    string
	client *http.Client
}

// Load gets the object. It returns no time, so the center uses the clock of the host.
func (b bucket) Load(ctx context.Context, name string) (casstore.Record, error) {
	status, version, value, err := b.call(ctx, http.MethodGet, name, "Accept", "*/*", nil)
	if err != nil || status == http.StatusNotFound {
		return casstore.Record{}, err
	}
	return casstore.Record{Value: value, Version: version}, nil
}

// Swap puts the object if it still has that version.
func (b bucket) Swap(ctx context.Context, name, version string, value []byte) (incarnation string, err error) {
	condition, tag := "If-Match", version
	if version == "" {
		condition, tag = "If-None-Match", "*"
	}
	status, _, _, err := b.call(ctx, http.MethodPut, name, condition, tag, value)
	if err == nil && status >= http.StatusMultipleChoices {
		return "", casstore.ErrChanged
	}
	return "", err // the service loses no write
}

func (b bucket) call(ctx context.Context, method, name, header, tag string, body []byte) (int, string, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.url+"/"+name, bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set(header, tag)
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	value, err := io.ReadAll(resp.Body)
	s := resp.StatusCode
	if err != nil || s < 300 || s == http.StatusNotFound || s == http.StatusConflict || s == http.StatusPreconditionFailed {
		return s, resp.Header.Get("ETag"), value, err
	}
	return 0, "", nil, fmt.Errorf("%s %s: %s: %.200s", method, req.URL.Redacted(), resp.Status, value)
}
