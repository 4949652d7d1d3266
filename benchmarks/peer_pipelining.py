#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same GPT through torch.distributed.pipelining (1F1B, Gloo, one process and thread per rank).

Run by benchmarks/run; prints one line of JSON: tokens/s (median step), peak memory per process.
"""
import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WIDTH, BLOCKS, HEADS, TOKENS, WORDS = 256, 8, 8, 128, 8192
BATCH, MICRO_BATCHES = 32, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).view(b, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(mixed.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Stage(nn.Module):
    """Blocks [first, last), with the embedding before the first and the head after the last."""

    def __init__(self, first, last):
        super().__init__()
        self.wte = nn.Embedding(WORDS, WIDTH) if first == 0 else None
        self.wpe = nn.Embedding(TOKENS, WIDTH) if first == 0 else None
        self.blocks = nn.ModuleList(Block() for _ in range(last - first))
        self.ln_f = nn.LayerNorm(WIDTH) if last == BLOCKS else None
        self.head = nn.Linear(WIDTH, WORDS, bias=False) if last == BLOCKS else None

    def forward(self, x):
        if self.wte is not None:
            x = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x)) if self.head is not None else x


def loss_of(logits, targets):
    return F.cross_entropy(logits.view(-1, WORDS), targets.reshape(-1))


def train(stage_module, run_step, steps):
    optimizer = torch.optim.AdamW(stage_module.parameters(), lr=1e-3, fused=True)
    seconds = []
    for _ in range(steps):
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        run_step()
        optimizer.step()
        seconds.append(time.perf_counter() - began)
    return BATCH * TOKENS / statistics.median(seconds[2:])


def report(speed):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"tokens_per_s": speed, "peak_rss_bytes": peak}), flush=True)


def one_process(threads, steps):
    torch.set_num_threads(threads)
    model = Stage(0, BLOCKS)
    tokens = torch.randint(0, 256, (BATCH, TOKENS))

    def step():
        for part in tokens.chunk(MICRO_BATCHES):
            (loss_of(model(part), part) / MICRO_BATCHES).backward()

    report(train(model, step, steps))


def pipeline(steps):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    # The balanced cut: the head weighs as much as two and a half blocks.
    cut = int(os.environ.get("PEER_CUT", "5"))
    module = Stage(0, cut) if rank == 0 else Stage(cut, BLOCKS)
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=loss_of)
    tokens = torch.randint(0, 256, (BATCH, TOKENS))
    step = (lambda: schedule.step(tokens)) if rank == 0 else (lambda: schedule.step(target=tokens, losses=[]))
    speed = train(module, step, steps)
    report(speed)
    dist.destroy_process_group()


if __name__ == "__main__":
    mode, count = sys.argv[1], int(sys.argv[2])
    if mode == "pipeline":
        pipeline(count)
    else:
        one_process(int(mode), count)
