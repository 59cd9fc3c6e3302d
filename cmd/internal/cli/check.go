package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/schema"
)

// A fault is an error at a position in a file.
type fault struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key"`
	Text   string `json:"text"`
}

type checkedConfig struct {
	config idworker.Config
	key    string // where it is, "" if it is the whole file
	faults []fault
}

// find returns the idworker configuration in a YAML text, the innermost block around it that
// has db or redis, and its key: "" if it is the whole file.
func find(text []byte, key string) (config, around *yaml.Node, at string, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		// Do not print the anchor: it may be a password that begins with a *.
		return nil, nil, "", errors.New(anchor.ReplaceAllString(err.Error(), "unknown anchor: quote values that begin with a *"))
	}
	if len(document.Content) == 0 {
		return nil, nil, "", errors.New("the file is empty")
	}
	config = document.Content[0]
	around = config
	if key == "" && lookup(config, "idworker") != nil {
		key = "idworker"
	}
	if key != "" {
		for name := range strings.SplitSeq(key, ".") {
			if lookup(config, "db") != nil || lookup(config, "redis") != nil {
				around = config
			}
			if config = lookup(config, name); config == nil {
				return nil, nil, "", fmt.Errorf("there is no key %s: set --key to the key of the idworker configuration", key)
			}
		}
	}
	return config, around, key, nil
}

// A block is where a file may have an idworker configuration.
type block struct{ key, namespace string }

// blocks returns the blocks below n, whose key is at: those at a key idworker, and those that
// have a namespace and only keys of s.
func blocks(n *yaml.Node, s *jsonSchema, at string) (all []block) {
	if n.Kind != yaml.MappingNode { // an alias may lead back to n
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i].Value, n.Content[i+1]
		namespace := ""
		if value := lookup(v, "namespace"); value != nil {
			namespace = value.Value
		}
		switch {
		case strings.Contains(name, "."): // --key cannot name it
		case name == "idworker", namespace != "" && s.knows(v) == len(resolve(v).Content)/2:
			all = append(all, block{join(at, name), namespace})
		default:
			all = append(all, blocks(v, s, join(at, name))...)
		}
	}
	return all
}

// knows returns how many keys of n are in s.
func (s *jsonSchema) knows(n *yaml.Node) (known int) {
	n = resolve(n)
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if s.Properties[n.Content[i].Value] != nil {
			known++
		}
	}
	return known
}

func configSchema() *jsonSchema {
	var s jsonSchema
	must(json.Unmarshal([]byte(schema.Config()), &s))
	return &s
}

// keyOf returns the key of the idworker configuration in a file that has the namespace, or of
// the first one if namespace is "". It returns "" if there is none.
func keyOf(file, namespace string) string {
	text, err := os.ReadFile(file)
	var document yaml.Node
	if err != nil || yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return ""
	}
	for _, b := range blocks(document.Content[0], configSchema(), "") {
		if namespace == "" || b.namespace == namespace {
			return b.key
		}
	}
	return ""
}

// atTheTop returns an error if root, a whole file, is no idworker configuration.
func atTheTop(root *yaml.Node, s *jsonSchema) error {
	if resolve(root).Kind != yaml.MappingNode || lookup(root, "namespace") != nil {
		return nil
	}
	const missing = "there is no key idworker at the top of the file"
	if elsewhere := blocks(root, s, ""); len(elsewhere) > 0 {
		keys := make([]string, len(elsewhere))
		for i, b := range elsewhere {
			keys[i] = "--key " + b.key
		}
		return fmt.Errorf("%s: name the one elsewhere: %s", missing, strings.Join(keys, " or "))
	}
	if s.knows(root) == 0 {
		return errors.New(missing + ", and the file is no idworker configuration itself: name another key with --key")
	}
	return nil
}

// checkConfig reads the idworker.Config in a YAML text, at key. It returns an error if there
// is none.
func checkConfig(text []byte, key string) (c checkedConfig, err error) {
	root, _, key, err := find(text, key)
	if err != nil {
		return c, err
	}
	s := configSchema()
	if key == "" {
		if err := atTheTop(root, s); err != nil {
			return c, err
		}
	}
	c.key = key
	ck := checker{merged: map[merge]bool{}}
	ck.check(root, s, key)
	c.faults = ck.faults
	if err := root.Decode(&c.config); err != nil {
		if len(c.faults) > 0 { // a value of a wrong type, which is among the faults
			return c, nil
		}
		return c, err
	}
	for _, f := range semantic(root, key, c.config.Validate()) {
		if !slices.ContainsFunc(ck.faults, func(known fault) bool { return known.Key == f.Key }) {
			c.faults = append(c.faults, f)
		}
	}
	return c, nil
}

var anchor = regexp.MustCompile(`(?s)unknown anchor '.*' referenced`)

// semantic returns the faults in err with their positions: that of the key, or of the block
// that lacks the key.
func semantic(root *yaml.Node, key string, err error) (faults []fault) {
	if err == nil {
		return nil
	}
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		f := fault{Line: root.Line, Column: root.Column, Key: key, Text: err.Error()}
		if e := (*idworker.ConfigError)(nil); errors.As(err, &e) {
			f.Key, f.Text = join(key, e.Key), strings.TrimPrefix(e.Error(), "idworker: config: ")
			if at := place(root, e.Key); at != nil {
				f.Line, f.Column = at.Line, at.Column
			}
		}
		faults = append(faults, f)
	}
	return faults
}

// place returns the node of a key such as segments[1].order, or of its longest prefix in the
// file, or nil.
func place(n *yaml.Node, key string) (at *yaml.Node) {
	for part := range strings.FieldsFuncSeq(key, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch n = resolve(n); n.Kind {
		case yaml.MappingNode:
			i := 0
			for i < len(n.Content) && n.Content[i].Value != part {
				i += 2
			}
			if i >= len(n.Content) {
				return at
			}
			at, n = n.Content[i], n.Content[i+1]
		case yaml.SequenceNode:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(n.Content) {
				return at
			}
			at, n = n.Content[i], n.Content[i]
		default:
			return at
		}
	}
	return at
}

// jsonSchema is the part of JSON Schema that the schema of this project uses.
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

type checker struct {
	faults []fault
	merged map[merge]bool
}

// A merge is a mapping that is merged into one of a schema.
type merge struct {
	from *yaml.Node
	into *jsonSchema
}

// merge checks what << merges, once: a mapping may contain itself.
func (c *checker) merge(v *yaml.Node, s *jsonSchema, key string) {
	from := []*yaml.Node{v}
	if list := resolve(v); list.Kind == yaml.SequenceNode {
		from = list.Content
	}
	for _, v := range from {
		if m := (merge{resolve(v), s}); !c.merged[m] {
			c.merged[m] = true
			c.check(v, s, key)
		}
	}
}

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
	// A key without a value counts as left out.
	if kind == "null" {
		return
	}
	if !slices.Contains(allowed, kind) {
		what := map[bool]string{true: ", such as 30s"}[s.Pattern != ""]
		c.fault(at, key, "%s has the wrong type: it must be of type %s%s", key, strings.Join(slices.DeleteFunc(allowed, func(t string) bool { return t == "null" }), " or "), what)
		return
	}
	switch kind {
	case "object":
		for i := 0; i < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.ShortTag() == "!!merge" {
				c.merge(v, s, key)
				continue
			}
			p := s.Properties[k.Value]
			if p == nil {
				name := printable.Quote(k.Value)
				c.fault(k, join(key, strings.Trim(name, `"`)), "unknown key %s: choose %s", name, strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
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
			c.fault(at, key, "%s %s is unknown: choose %s", key, printable.Quote(n.Value), strings.Join(slices.DeleteFunc(slices.Clone(s.Enum), func(v string) bool { return v == "" }), ", "))
		}
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(n.Value) {
			c.fault(at, key, "%s %s is not a duration such as 30s", key, printable.Quote(n.Value))
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
