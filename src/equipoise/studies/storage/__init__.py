"""Inside the store: tables, opening, leases, recording and looking up, one idea a file."""
