package management

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
)

// TokenHeader is the request header that holds the management token.
const TokenHeader = "Weir-Management-Token"

// token is what guards the handler. The zero token admits everybody.
type token struct {
	required bool
	// digest is compared instead of the text, so that the time which the
	// comparison takes does not even tell the token's length.
	digest [sha256.Size]byte
}

func newToken(text string) token {
	return token{required: text != "", digest: sha256.Sum256([]byte(text))}
}

func (t token) admits(r *http.Request) bool {
	if !t.required {
		return true
	}
	given := sha256.Sum256([]byte(r.Header.Get(TokenHeader)))
	return subtle.ConstantTimeCompare(given[:], t.digest[:]) == 1
}
