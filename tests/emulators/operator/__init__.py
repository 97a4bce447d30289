"""A stand-in for AWS's closed HyperPod Inference Operator: what it renders from InferenceEndpointConfig (IEC) resources.

Nothing of AWS's is in it. Marks in the docstrings say how a fact is known: *observed* (AWS's documentation, or what users of
the operator have published), *inferred* (nobody has published it; our guess, for something has to stand there).

`python -m emulators.operator --kubeconfig FILE --version 3.2` (from tests/) runs it until it is ended.
"""
