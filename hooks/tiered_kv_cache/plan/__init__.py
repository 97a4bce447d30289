"""The verb ``plan``: what rendered manifests would make, before anything is installed. See docs/plan.md."""
