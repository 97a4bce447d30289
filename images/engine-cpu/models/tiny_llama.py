"""Make a random llama of 12.6 million parameters with its own tokenizer, for tests that look at counters, not at sense.

Weights and tokenizer come from fixed seeds, so two runs of one image write the same bytes; greedy text is therefore
the same on every machine with the same kind of CPU. It has 6 layers x 2 KV heads x 64 wide: 6,144 bytes of KV a token
in float32, 1.5 MiB a chunk of 256 tokens.

Another --seed gives another model of the same shape and with the same tokenizer: the same prompt has the same token ids
in both, and other blocks. Two such models show whether anything is shared that must not be.

usage: tiny_llama.py [--seed N] TARGET
"""

from __future__ import annotations

import argparse
import hashlib
import random
import string
import sys
from pathlib import Path

from _folder import publish

SEED = 0
SPECIAL = ["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"]
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def corpus() -> list[str]:
    """Return 3,000 lines of invented words: text enough for a tokenizer, and nobody's copyright."""
    dice = random.Random(SEED)
    words = ["".join(dice.choices(string.ascii_lowercase, k=dice.randint(2, 9))) for _ in range(4000)]
    return [" ".join(dice.choices(words, k=60)) for _ in range(3000)]


def build(target: Path, seed: int) -> None:
    """Write tokenizer, config and weights (float16, random by `seed`) into `target`."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        corpus(),
        trainers.BpeTrainer(
            vocab_size=8192, special_tokens=SPECIAL, initial_alphabet=sorted(alphabet), show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(target)

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=384,
        intermediate_size=1024,
        num_hidden_layers=6,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        dtype=torch.float16,
    )
    LlamaForCausalLM(config).to(torch.float16).save_pretrained(target)


def main() -> int:
    parser = argparse.ArgumentParser(description="random 12.6M-parameter llama with its own tokenizer")
    parser.add_argument("target", type=Path, help="folder to make; its parent must be writable")
    parser.add_argument("--seed", type=int, default=SEED, help="of the weights; the tokenizer is always the same")
    args = parser.parse_args()
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    made = publish(args.target, {"recipeSha256": recipe, "seed": args.seed}, lambda folder: build(folder, args.seed))
    print(f"{args.target}: {'written' if made else 'already there'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
