package console

import "fmt"

// icon returns the icon of the page as SVG. The shape differs as well as the color.
func icon(l level) string {
	fill, path := "#2456a6", "M16 5v22M6.5 10.5l19 11M25.5 10.5l-19 11" // a snowflake
	switch l {
	case amber:
		fill, path = "#945a00", "M16 6v13M16 23v3"
	case red:
		fill, path = "#b3261e", "M8 8l16 16M24 8l-16 16"
	case gray:
		fill, path = "#5b6470", "M8 16h16"
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%s"/><path d="%s" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>`, fill, path)
}
