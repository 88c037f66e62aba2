package main

// account is a user of a tenant, and the limits per minute that the tenant has
// booked: for all of its users, and for each of them.
type account struct {
	tenant, user           string
	tenantLimit, userLimit int
}

// newAccounts stands for the application's database, which has them by their API
// keys.
func newAccounts() map[string]account {
	return map[string]account{
		"key-of-alice": {tenant: "acme", user: "alice", tenantLimit: maxTenantLimit, userLimit: maxUserLimit},
		"key-of-bob":   {tenant: "trial", user: "bob", tenantLimit: 5, userLimit: 3},
		"key-of-carol": {tenant: "trial", user: "carol", tenantLimit: 5, userLimit: 3},
	}
}
