// Package snowflake describes and decodes time-ordered 64-bit ids: the Layout of their fields,
// and ID, an id with text, JSON and SQL forms. Package snowlease issues them.
package snowflake
