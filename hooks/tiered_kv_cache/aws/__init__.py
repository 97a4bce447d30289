"""The verb ``aws``: tiered storage of a HyperPod cluster and the EKS add-ons of its inference operator (docs/aws.md)."""
