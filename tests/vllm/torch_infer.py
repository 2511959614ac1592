"""Profiles a loop of its own with `tracekit.profile`; the folder is its argument."""

import sys

import torch

import tracekit

model = torch.nn.Linear(64, 64)
with torch.no_grad(), tracekit.profile(sys.argv[1], steps=3, warmup=1, shapes=True) as profile:
    for _ in range(6):
        model(torch.rand(16, 64))
        profile.step()
