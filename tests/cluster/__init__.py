"""Tests on the local cluster: real API server, real kubelets, real engines."""
