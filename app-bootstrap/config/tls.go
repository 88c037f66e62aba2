package config

import (
	"crypto/tls"
	"crypto/x509"
)

const webTLSKey = "app.web.tls"

// TLS is how one side of a connection proves who it is. The zero TLS means that
// it does not, and a listener then speaks in clear.
type TLS struct {
	// CertificateFile holds the certificate and those that vouch for it, KeyFile
	// its private key, both in PEM form.
	CertificateFile, KeyFile string
}

// Enabled reports whether there is a certificate.
func (t TLS) Enabled() bool { return t.CertificateFile != "" }

type tlsSection struct {
	CertFile string `koanf:"cert-file"`
	KeyFile  string `koanf:"key-file"`
}

// tls reads the files that section names, so that a pair that does not fit is a
// fault and not a connection that nobody gets.
func (r *resolver) tls(sectionKey string, section tlsSection) TLS {
	certificateKey, privateKeyKey := join(sectionKey, "cert-file"), join(sectionKey, "key-file")
	switch {
	case section.CertFile == "" && section.KeyFile == "":
		return TLS{}
	case section.KeyFile == "":
		r.addUnlessReported(privateKeyKey, "must be given, because %s is", certificateKey)
		return TLS{}
	case section.CertFile == "":
		r.addUnlessReported(certificateKey, "must be given, because %s is", privateKeyKey)
		return TLS{}
	}
	certificate := r.certificateFile(certificateKey, section.CertFile)
	key := r.certificateFile(privateKeyKey, section.KeyFile)
	if certificate != nil && key != nil {
		if _, err := tls.X509KeyPair(certificate, key); err != nil {
			r.add(certificateKey, "does not go with %s: %v", privateKeyKey, err)
		}
	}
	return TLS{CertificateFile: section.CertFile, KeyFile: section.KeyFile}
}

// maxCertificateBytes bounds a file of certificates or of a key.
const maxCertificateBytes = 1 << 20

// certificateFile is nil after a fault.
func (r *resolver) certificateFile(key, path string) []byte {
	content, err := r.sources.read(path, maxCertificateBytes)
	if err != nil {
		r.add(key, "names a file that cannot be read: %v", err)
		return nil
	}
	if content == nil {
		content = []byte{}
	}
	return content
}

// rootCAs is nil without a file.
func (r *resolver) rootCAs(key, file string) *x509.CertPool {
	if file == "" {
		return nil
	}
	content := r.certificateFile(key, file)
	if content == nil {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		r.add(key, "names a file without a certificate in PEM form")
		return nil
	}
	return pool
}

// clearHTTP2 is false where it has no effect.
func (r *resolver) clearHTTP2(web webSection) bool {
	const key = "app.web.h2c"
	if web.H2C && (web.TLS.CertFile != "" || web.TLS.KeyFile != "") {
		r.warn(key, "has no effect, because %s is given: HTTP/2 is agreed on in the handshake", join(webTLSKey, "cert-file"))
		return false
	}
	return web.H2C
}
