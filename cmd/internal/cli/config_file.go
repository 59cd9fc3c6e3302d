package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/printable"
)

// A later is a part of a YAML document that is decoded later, when its type is known.
type later func(into any) error

// UnmarshalYAML keeps the decoder, with its lines, anchors and KnownFields.
func (l *later) UnmarshalYAML(decode func(any) error) error {
	*l = decode
	return nil
}

// parseConfig parses the configuration at key in a YAML document, and returns each fault of it with
// its line. It returns an error if there is none. Errors contain no values, because other parts of the
// file may hold passwords.
func parseConfig(text []byte, key string) (c idworker.Config, faults []string, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var part later
	if err := decoder.Decode(&part); err != nil && !errors.Is(err, io.EOF) {
		return c, nil, errors.New(anchor.ReplaceAllString(err.Error(), "unknown anchor: quote values that begin with a *"))
	}
	if part == nil {
		return c, nil, errors.New("the file is empty")
	}
	for name := range strings.FieldsFuncSeq(key, func(r rune) bool { return r == '.' }) {
		var parts map[string]later
		_ = part(&parts) // the other keys may be anything
		if part = parts[name]; part == nil {
			return c, nil, fmt.Errorf("there is nothing at the key %s: set --key to the key of the idworker configuration", key)
		}
	}
	wrong := (*yaml.TypeError)(nil)
	if err := part(&c); err != nil && !errors.As(err, &wrong) {
		return c, nil, err
	}
	if wrong != nil {
		for _, text := range wrong.Errors {
			faults = append(faults, faultOf(text))
		}
		return c, faults, nil
	}
	invalid, _ := c.Validate().(interface{ Unwrap() []error })
	if invalid == nil {
		return c, nil, nil
	}
	var file yaml.Node
	must(yaml.Unmarshal(text, &file))
	for _, err := range invalid.Unwrap() {
		at := key
		if e := (*fault.Fault)(nil); errors.As(err, &e) {
			at += "." + e.Key
		}
		faults = append(faults, fmt.Sprintf("%d: %s", lineAt(file.Content[0], at), strings.TrimPrefix(err.Error(), "snowlease: config: ")))
	}
	return c, faults, nil
}

var (
	anchor    = regexp.MustCompile(`(?s)unknown anchor '.*' referenced`)
	unknown   = regexp.MustCompile(`(?s)^field (.*) not found in type .*$`)
	wrongType = regexp.MustCompile("(?s)^cannot unmarshal !!(\\w+).* into ([^`]+)$")
)

// faultOf parses one error of a yaml.TypeError, such as "line 3: field x not found".
func faultOf(text string) string {
	line, text, _ := strings.Cut(strings.TrimPrefix(text, "line "), ": ")
	if m := unknown.FindStringSubmatch(text); m != nil {
		return line + ": unknown key " + printable.Quote(m[1])
	} else if m := wrongType.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s: wrong type: %s in place of %s", line, m[1], m[2])
	}
	return line + ": " + printable.Text(text)
}

// lineAt returns the line of a key such as idworker.segments[1].order, or of its nearest parent in
// n.
func lineAt(n *yaml.Node, key string) int {
	line := n.Line
	for part := range strings.FieldsFuncSeq(key, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		i, err := strconv.Atoi(part)
		if n.Kind == yaml.MappingNode {
			for i, err = 0, nil; i < len(n.Content) && n.Content[i].Value != part; i += 2 {
			}
		}
		if err != nil || i >= len(n.Content) {
			return line
		}
		line = n.Content[i].Line
		if n.Kind == yaml.MappingNode {
			i++
		}
		n = n.Content[i]
	}
	return line
}
