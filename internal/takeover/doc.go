// Package takeover moves a live stream of ids to another layout, center, database or
// namespace, for the command "snowlease takeover". docs/upgrade.md describes the steps.
package takeover
