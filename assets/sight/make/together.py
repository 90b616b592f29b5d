# SPDX-License-Identifier: MIT
"""together.py: several processes of one thread train one model: every few steps they take the mean of their weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch import distributed

BETWEEN = 8  # steps from one mean to the next


class Team:
    def __init__(self, rank: int, size: int):
        self.rank, self.size = rank, size

    @torch.no_grad()
    def mean(self, tensors: list[torch.Tensor], done: float) -> float:
        """The tensors become the mean of all; so does `done`, which is returned."""
        if self.size == 1:
            return done
        flat = torch.cat([t.flatten() for t in tensors] + [torch.tensor([done])])
        distributed.all_reduce(flat)
        flat /= self.size
        at = 0
        for tensor in tensors:
            tensor.copy_(flat[at : at + tensor.numel()].view_as(tensor))
            at += tensor.numel()
        return float(flat[-1])


def _begin(rank: int, size: int, meeting: str, work: Callable, arguments: tuple) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    work(Team(rank, size), *arguments)
    distributed.destroy_process_group()


def run(size: int, out: Path, work: Callable, *arguments: object) -> None:
    """Calls work(team, *arguments) in so many processes."""
    if size == 1:
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        return work(Team(0, 1), *arguments)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    meeting = out.resolve() / "meeting"
    meeting.unlink(missing_ok=True)
    everything = (size, f"file://{meeting}", work, arguments)
    torch.multiprocessing.start_processes(_begin, everything, size, start_method="fork")
    meeting.unlink(missing_ok=True)
