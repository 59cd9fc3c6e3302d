package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/snowlease/snowlease/casstore"
)

// A bucket keeps records as objects that HTTP writes on condition, as S3, Azure Blob
// and WebDAV do. client adds what the service wants, such as signatures.
type bucket struct {
	url    string
	client *http.Client
}

// Load gets the object. Services tell the time in seconds, so the host's is taken.
func (b bucket) Load(ctx context.Context, name string) (casstore.Record, error) {
	status, version, value, err := b.call(ctx, http.MethodGet, name, "Accept", "*/*", nil)
	if err != nil || status == http.StatusNotFound {
		return casstore.Record{}, err
	}
	return casstore.Record{Value: value, Version: version}, nil
}

// Swap puts the object if it is still the one of that version.
func (b bucket) Swap(ctx context.Context, name, version string, value []byte) error {
	condition, tag := "If-Match", version
	if version == "" {
		condition, tag = "If-None-Match", "*"
	}
	status, _, _, err := b.call(ctx, http.MethodPut, name, condition, tag, value)
	if err == nil && status >= http.StatusMultipleChoices {
		return casstore.ErrChanged
	}
	return err
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
