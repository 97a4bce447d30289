"""Figures of the published walkthrough (AWS Machine Learning Blog, "Tiered KV cache for large LLMs on Amazon SageMaker
HyperPod with Curvine", August 2026): Qwen2-7B in float16, two replicas on two nodes, serial requests straight to the Pods,
5 generated tokens. It gives medians or single runs without spread."""

from __future__ import annotations

SOURCE = "AWS walkthrough, Qwen2-7B, A10G"
SPEEDUP = {500: 0.99, 1000: 1.7, 2500: 2.7, 3000: 2.2}
"""Prompt tokens -> TTFT cold by TTFT of an L2 hit on another Pod."""
DIALOGUE = 1.30
"""Four turns of 530 to 2,114 prompt tokens on L40S and L4: 4.21 s by 3.25 s."""
DIALOGUE_TURNS = (1.22, 1.34)
"""The least and the most of the four turns."""
