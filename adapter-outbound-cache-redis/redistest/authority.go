package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority vouches for servers and clients of tests.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Identity is a certificate with its private key, both in PEM form.
type Identity struct {
	Certificate, Key []byte
}

// NewAuthority makes an authority that nobody knows yet.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	key := newKey(tb)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "an authority of tests"},
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		NotAfter:              time.Now().Add(lifetime),
	}
	return &Authority{certificate: sign(tb, template, template, key, key), key: key}
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Pool holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue vouches for a server or client under hosts, which are names or addresses.
// It is called by the first of them.
func (a *Authority) Issue(tb testing.TB, hosts ...string) Identity {
	tb.Helper()
	return a.IssueUntil(tb, time.Now().Add(lifetime), hosts...)
}

// IssueUntil is Issue with an end, which may have passed.
func (a *Authority) IssueUntil(tb testing.TB, end time.Time, hosts ...string) Identity {
	tb.Helper()
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "somebody in a test"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotAfter:    end,
	}
	if len(hosts) > 0 {
		template.Subject.CommonName = hosts[0]
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key := newKey(tb)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	certificate := sign(tb, template, a.certificate, key, a.key)
	return Identity{Certificate: encode("CERTIFICATE", certificate.Raw), Key: encode("PRIVATE KEY", private)}
}

// Pair is the identity in the form that crypto/tls takes.
func (i Identity) Pair(tb testing.TB) tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(i.Certificate, i.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

// lifetime outlasts every test.
const lifetime = 24 * time.Hour

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func sign(tb testing.TB, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Unix(0, 0)
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}

func encode(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}
