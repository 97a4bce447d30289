"""The L2 patch of docs/l2-patch.md: what it does to a Pod (`apply`), the webhook (`serve`) and its certificate (`certificate`)."""
