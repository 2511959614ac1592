"""Trains a tiny model on all ranks; its environment says for how long, and how it ends."""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
model = DistributedDataParallel(layers)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(int(os.environ.get("TRAIN_STEPS", "8"))):
    optimizer.zero_grad()
    model(torch.rand(16, 64)).sum().backward()
    optimizer.step()
if os.environ.get("TRAIN_END") == "exit":
    sys.exit(3)
if os.environ.get("TRAIN_END") == "raise":
    raise ValueError("no luck")
