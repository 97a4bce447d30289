"""One module a subject; each check gives rows as it finds them."""
