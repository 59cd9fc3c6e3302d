package mutation_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithVariant checks that functions of every form can be copied, and copied again.
func TestWithVariant(t *testing.T) {
	t.Parallel()
	const product = `package p

var mutantNumber int

type box[T any] struct{ v T }

func (box[T]) unnamed(int, ...string) (n int) { /* rule */ return n }
func (b *box[T]) named(_, more T) T           { /* rule */ return b.v }
func generic[T, U any](_ T, all ...U) []U     { /* rule */ return all }
func nothing()                                { /* rule */ }
func spread(n int) (a, b int) {
	/* rule */
	return n, n
}

var initial, _ = spread(1)
`
	mutated := strings.ReplaceAll(product, "/* rule */", "if mutantNumber < 0 { panic(nil) };")
	text, ok := withVariant(product, product, mutated, 7)
	require.True(t, ok)
	text, ok = withVariant(text, product, mutated, 8)
	require.True(t, ok)
	for _, number := range []string{"7", "8"} {
		require.Equal(t, 5, strings.Count(text, "if mutantNumber == "+number+" {"))
		require.Equal(t, 10, strings.Count(text, "Mutant"+number))
	}
	require.Equal(t, 5, strings.Count(text, "/* rule */"))
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, 0)
	require.NoError(t, err, text)
	_, err = (&types.Config{}).Check("p", files, []*ast.File{file}, nil)
	require.NoError(t, err, text)

	for _, other := range []string{
		strings.Replace(product, "spread(1)", "spread(2)", 1),
		strings.Replace(product, "nothing()", "nothing(_ int)", 1),
		"not Go",
	} {
		_, ok := withVariant(product, product, other, 7)
		require.False(t, ok, other)
	}
}
