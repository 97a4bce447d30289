"""Hooks of the tiered-kv-cache chart: what a manifest alone can neither do nor prove.

Each verb is ``python -m tiered_kv_cache <verb>``: it runs in the cluster as a hook or an init container, and outside
with a kubeconfig.
"""
