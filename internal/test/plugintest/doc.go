// Package plugintest tests gormplugin together with other GORM plugins. It is a module
// of its own to keep those plugins out of the go.mod that users of the library get.
package plugintest
