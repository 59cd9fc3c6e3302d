// Package plugintest holds tests of gormplugin beside other plugins of GORM. It is a
// module of its own, so that those stay out of the go.mod that users of this module
// get.
package plugintest
