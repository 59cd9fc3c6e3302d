package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/schema"
)

// A fault is what is wrong at a place of a file.
type fault struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key"`
	Text   string `json:"text"`
}

type checkedConfig struct {
	config idworker.Config
	faults []fault
}

// checkConfig reads the part of a YAML text that is an idworker.Config. The error says
// that there is none.
func checkConfig(text []byte, key string) (c checkedConfig, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		// The file may hold a password that begins with a *.
		return c, errors.New(anchor.ReplaceAllString(err.Error(), "unknown anchor: quote what begins with a *"))
	}
	if len(document.Content) == 0 {
		return c, errors.New("it is empty")
	}
	root := document.Content[0]
	if key == "" && lookup(root, "idworker") != nil {
		key = "idworker"
	}
	if key != "" {
		for name := range strings.SplitSeq(key, ".") {
			if root = lookup(root, name); root == nil {
				return c, fmt.Errorf("there is no key %s: say by --key where the configuration of idworker is", key)
			}
		}
	}
	var s jsonSchema
	if err := json.Unmarshal([]byte(schema.Config()), &s); err != nil {
		return c, err
	}
	ck := checker{}
	ck.check(root, &s, key)
	c.faults = ck.faults
	if err := root.Decode(&c.config); err != nil {
		if len(c.faults) > 0 { // a value of another type, which is told
			return c, nil
		}
		return c, err
	}
	for _, f := range semantic(root, key, c.config.Validate()) {
		if !slices.ContainsFunc(ck.faults, func(told fault) bool { return told.Key == f.Key }) {
			c.faults = append(c.faults, f)
		}
	}
	return c, nil
}

var anchor = regexp.MustCompile(`(?s)unknown anchor '.*' referenced`)

// semantic gives each fault of a Config the place of the key that it begins with.
func semantic(root *yaml.Node, key string, err error) (faults []fault) {
	if err == nil {
		return nil
	}
	for text := range strings.Lines(err.Error()) {
		text = strings.TrimSpace(strings.TrimPrefix(text, "idworker: config: "))
		f := fault{Line: root.Line, Column: root.Column, Key: key, Text: text}
		name, _, _ := strings.Cut(text, " ")
		name = strings.TrimSuffix(name, ":")
		if root := resolve(root); root.Kind == yaml.MappingNode {
			for i := 0; i < len(root.Content); i += 2 {
				if k := root.Content[i]; k.Value == name {
					f.Line, f.Column, f.Key = k.Line, k.Column, join(key, name)
				}
			}
		}
		faults = append(faults, f)
	}
	return faults
}

// jsonSchema is as much of JSON Schema as this project's uses.
type jsonSchema struct {
	Type                 any                    `json:"type"` // a string or a list
	Enum                 []string               `json:"enum"`
	Pattern              string                 `json:"pattern"`
	Minimum              *int64                 `json:"minimum"`
	Maximum              *int64                 `json:"maximum"`
	Items                *jsonSchema            `json:"items"`
	AdditionalProperties *bool                  `json:"additionalProperties"`
	Properties           map[string]*jsonSchema `json:"properties"`
}

func (s *jsonSchema) types() (all []string) {
	if one, ok := s.Type.(string); ok {
		return []string{one}
	}
	list, _ := s.Type.([]any)
	for _, t := range list {
		all = append(all, fmt.Sprint(t))
	}
	return all
}

type checker struct{ faults []fault }

func (c *checker) fault(n *yaml.Node, key, format string, args ...any) {
	c.faults = append(c.faults, fault{n.Line, n.Column, key, fmt.Sprintf(format, args...)})
}

func (c *checker) check(n *yaml.Node, s *jsonSchema, key string) {
	at, n := n, resolve(n)
	kinds := map[yaml.Kind]string{yaml.MappingNode: "object", yaml.SequenceNode: "array"}
	kind := kinds[n.Kind]
	if n.Kind == yaml.ScalarNode {
		kind = map[string]string{"!!int": "integer", "!!bool": "boolean", "!!null": "null", "!!str": "string"}[n.ShortTag()]
	}
	allowed := s.types()
	// A key with nothing behind it is one that was left out.
	if kind == "null" {
		return
	}
	if !slices.Contains(allowed, kind) {
		what := map[bool]string{true: " such as 30s"}[s.Pattern != ""]
		c.fault(at, key, "%s is no %s%s", key, strings.Join(slices.DeleteFunc(allowed, func(t string) bool { return t == "null" }), " or "), what)
		return
	}
	switch kind {
	case "object":
		for i := 0; i < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.ShortTag() == "!!merge" {
				c.check(v, s, key)
				continue
			}
			p := s.Properties[k.Value]
			if p == nil {
				c.fault(k, join(key, k.Value), "there is no key %q here%s", k.Value, like(k.Value, s))
				continue
			}
			c.check(v, p, join(key, k.Value))
		}
	case "array":
		for i, v := range n.Content {
			c.check(v, s.Items, fmt.Sprintf("%s[%d]", key, i))
		}
	case "string":
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, n.Value) {
			c.fault(at, key, "%s %q is unknown: choose %s", key, n.Value, strings.Join(slices.DeleteFunc(slices.Clone(s.Enum), func(v string) bool { return v == "" }), ", "))
		}
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(n.Value) {
			c.fault(at, key, "%s %q is no duration such as 30s", key, n.Value)
		}
	case "integer":
		var v int64
		if err := n.Decode(&v); err != nil || s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			c.fault(at, key, "%s %s is out of range%s", key, n.Value, bounds(s))
		}
	}
}

func bounds(s *jsonSchema) string {
	if s.Minimum == nil || s.Maximum == nil {
		return ""
	}
	return ": give " + strconv.FormatInt(*s.Minimum, 10) + " to " + strconv.FormatInt(*s.Maximum, 10)
}

// like names a key that may have been meant.
func like(name string, s *jsonSchema) string {
	squeeze := strings.NewReplacer("_", "", "-", "", ".", "")
	flat := func(s string) string { return strings.ToLower(squeeze.Replace(s)) }
	best, least := "", 3
	for key := range s.Properties {
		if d := distance(flat(name), flat(key)); d < least || d == least && key < best {
			best, least = key, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": do you mean %s?", best)
}

// distance is how many letters differ, Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := left
			if a[i] != b[j] {
				d = 1 + min(left, row[j], row[j+1])
			}
			left, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

func join(key, name string) string { return strings.TrimPrefix(key+"."+name, ".") }

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func lookup(n *yaml.Node, name string) *yaml.Node {
	if n = resolve(n); n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i+1]
			}
		}
	}
	return nil
}
