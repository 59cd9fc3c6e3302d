// Hello prints a number: what any program costs.
package main

import "fmt"

func main() { fmt.Println(1) }
