// Package dsn checks data source names, addresses and endpoints, and keeps their passwords out of
// names and errors, whatever the driver. It links no driver.
package dsn

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/snowlease/snowlease/internal/printable"
)

// Trim returns s without trailing white space, such as the line break of a secret file.
func Trim[S ~string](s S) S { return S(strings.TrimRightFunc(string(s), unicode.IsSpace)) }

// Plain returns an error if s has a control character. To SQLite, "app.db" and "app.db\n" are two
// files, and centers on them would lease the same worker ids.
func Plain(s string) error {
	for i, r := range s {
		if unicode.IsControl(r) || r == '\ufeff' {
			return fmt.Errorf("has the control character %U at byte %d: remove it", r, i)
		}
	}
	return nil
}

// IsURL reports whether a DSN of PostgreSQL is a URL, not key-value pairs.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// WithSetting adds a setting, such as "connect_timeout=5", to a DSN of PostgreSQL.
func WithSetting(text, setting string) string {
	switch {
	case !IsURL(text):
		return setting + " " + text // not at the end, where it would become part of an empty value
	case strings.Contains(text, "?"):
		return text + "&" + setting
	}
	return text + "?" + setting
}

// AtAfterHost reports whether the password of a URL has a "/", "?" or "#", at which drivers end it.
// The rest of the password would appear as the name of the database.
func AtAfterHost(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.Contains(rest[end:], "@")
}

// Host returns addr if it is certain to be host:port or the path of a socket, and otherwise "".
func Host(addr string) string {
	if strings.HasPrefix(addr, "/") && !strings.ContainsAny(addr, "@:") {
		return addr
	}
	host, port, err := net.SplitHostPort(addr)
	if _, number := strconv.ParseUint(port, 10, 16); err != nil || number != nil || strings.ContainsAny(host, "@/%?#&=' ") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return ""
	}
	return addr
}

var (
	hosts    = regexp.MustCompile(`^(([\w./-]*|\[[[:xdigit:]:.]*\])(:\d*)?(,|$))*$`)
	database = regexp.MustCompile(`^[\w$.-]*$`)
)

// Place returns hosts/database, where hosts are host:port or paths of sockets, separated by
// commas. It leaves out the database if the name could be something else, such as
// "shop&password=x", and returns "" if a host could be.
func Place(host, name string) string {
	switch {
	case host == "" || !hosts.MatchString(host):
		return ""
	case !database.MatchString(name):
		return host
	}
	return host + "/" + name
}

// Hide returns an error that wraps err, with stars in place of each part of texts that could be
// secret and of the logins of all URLs. It keeps the words of public. Messages of servers become
// printable and short.
func Hide(err error, public string, texts ...string) error {
	return printable.Error(err, func(text string) string { return hide(text, public, texts) })
}

const stars = "***"

var (
	login = regexp.MustCompile(`://[^\s"]*@`)
	// settings are words of a DSN that errors contain too.
	settings = regexp.MustCompile(`^(postgres(ql)?|mysql|sqlite|file|redis|rediss|http|https|unix|host|port|user|password|dbname|database|sslmode|txlock|pragma|(ssl(root)?)?cert|sslkey|certs|certificates?|connect|timeout|parse(Time)?|true|false|disable|require|prefer|verify|full|ca|skip|localhost|\d\d?\d?)$`)
)

// hide replaces the words of texts, both literal and percent-decoded. A driver splits a DSN at
// fewer characters than words does, so a part of a DSN in a driver's error consists of whole
// words.
func hide(text, public string, texts []string) string {
	text = login.ReplaceAllString(text, "://"+stars+"@")
	shown := map[string]bool{}
	for _, w := range words(public) {
		shown[w] = true
	}
	hidden := func(word string) bool { return !shown[word] && !settings.MatchString(word) }
	for _, t := range texts {
		var whole, single []string // a part may consist of short words
		for _, part := range strings.FieldsFunc(t, func(r rune) bool { return strings.ContainsRune(":/@?&=() ", r) }) {
			plain, _ := url.QueryUnescape(part)
			whole, single = append(whole, part, plain), append(append(single, words(part)...), words(plain)...)
		}
		for _, part := range append(whole, single...) {
			if len(part) > 3 && slices.ContainsFunc(words(part), hidden) {
				text = strings.ReplaceAll(text, part, stars)
			}
		}
	}
	return text
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
