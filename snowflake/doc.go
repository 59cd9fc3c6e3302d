// Package snowflake describes and decodes time-ordered 64-bit ids. A Layout defines the fields of
// an id, and ID is an id with text, JSON and SQL encodings. Package snowlease issues the ids.
package snowflake
