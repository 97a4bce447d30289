"""`make plan`: a values file through Helm, and what the verb plan says of it."""
