//go:build race

package model

const race = true
