package docstest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// checkLinks looks up the files, headings and lines that a page links to. It does not
// fetch external pages, but they must use https.
func checkLinks(p page) error {
	var errs []error
	for _, m := range link.FindAllStringSubmatch(p.prose, -1) {
		if err := checkLink(p, m[1]); err != nil {
			errs = append(errs, fmt.Errorf("link %s: %w", m[1], err))
		}
	}
	return errors.Join(errs...)
}

func checkLink(p page, target string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme != "" || path.IsAbs(u.Path):
		return errors.New("is neither relative nor https")
	}
	text := p.prose
	if u.Path != "" {
		file := filepath.Join(root, path.Dir(p.name), u.Path)
		info, err := os.Stat(file)
		if err != nil {
			return errors.New("there is no such file")
		}
		if u.Fragment == "" || info.IsDir() {
			return nil
		}
		whole, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = string(whole)
	}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(strings.ReplaceAll(h[1], "`", "")), "")
		if strings.ReplaceAll(slug, " ", "-") == u.Fragment {
			return nil
		}
	}
	return errors.New("there is no such heading")
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if err := checkLinks(p); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}
