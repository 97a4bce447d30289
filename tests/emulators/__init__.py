"""Stand-ins for servers that are too big or too foreign for a unit test. They never ship."""
