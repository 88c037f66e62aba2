package config

import (
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const overridesKey = "app.rate-limit.overrides"

// overridden is policies with the overrides of entries. The subjects are digested
// here, so that nothing else ever sees who they are.
func (r *resolver) overridden(policies *ratelimit.Snapshot, entries []overrideEntry, addressing pseudonym.Addressing, secret pseudonym.Secret) *ratelimit.Snapshot {
	if len(entries) == 0 {
		return policies
	}
	key := trialKey()
	if !secret.IsZero() {
		key = secret.SubjectKey()
	}
	overrides := make([]ratelimit.Override, len(entries))
	for i, entry := range entries {
		fields := entryFields{resolver: r, section: itemKey(overridesKey, i)}
		overrides[i] = ratelimit.Override{
			PolicyID: fields.text("policy", entry.Policy),
			Subject:  fields.subject("subject", entry.Subject, addressing).Digest(key),
			Limit:    required(fields, "limit", entry.Limit),
		}
	}
	changed, err := policies.WithOverrides(overrides...)
	r.addUnder(rateLimitKey, err)
	if err != nil {
		return policies
	}
	return changed
}

// text is value, which must not be empty.
func (f entryFields) text(name, value string) string {
	if value == "" {
		f.addUnlessReported(join(f.section, name), "must be given")
	}
	return value
}

// subject reads a subject that must be given.
func (f entryFields) subject(name, text string, addressing pseudonym.Addressing) pseudonym.Subject {
	if f.text(name, text) == "" {
		return pseudonym.Subject{}
	}
	return f.parseSubject(join(f.section, name), text, addressing)
}

// parseSubject is nobody after a fault, which does not repeat the text.
func (r *resolver) parseSubject(key, text string, addressing pseudonym.Addressing) pseudonym.Subject {
	if addressing.Check() != nil {
		addressing = pseudonym.Addressing{} // another fault says what is wrong with it
	}
	subject, err := addressing.ParseSubject(text)
	if err != nil {
		r.addUnlessReported(key, "%v", err)
	}
	return subject
}
