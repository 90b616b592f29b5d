#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes NAME.safetensors (a state_dict) and NAME.io.safetensors (x, y: frames in and out) here, by torch, for
tests/net/net.cpp, which has the same nets as types."""
import pathlib

import torch
from safetensors.torch import save_file
from torch import nn

HERE = pathlib.Path(__file__).parent
torch.manual_seed(20261125)
torch.set_num_threads(1)


class Causal(nn.Conv1d):
    """Over frames [frames, in], with zeros before the first."""

    def forward(self, x):
        past = (self.kernel_size[0] - 1) * self.dilation[0]
        return super().forward(nn.functional.pad(x.T[None], (past, 0)))[0].T


class GRU(nn.GRU):
    def forward(self, x):
        return super().forward(x)[0]


class LSTM(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0]


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Sum(nn.Sequential):
    def forward(self, x):
        return sum(module(x) for module in self)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.cells, self.out = nn.GRU(2, 9, num_layers=2), nn.LSTM(9, 6, num_layers=2), nn.Linear(6, 1)

    def forward(self, x):
        return self.out(self.cells(self.rnn(x)[0])[0])


NETS = {
    "amp": nn.Sequential(Causal(1, 8, 3), nn.Tanh(), GRU(8, 32), nn.Linear(32, 1)),
    "odd": nn.Sequential(
        Causal(3, 7, 3, dilation=4), nn.BatchNorm1d(7), nn.PReLU(7), Residual(Causal(7, 7, 2, dilation=3, bias=False), nn.ReLU()),
        LSTM(7, 5), GRU(5, 11), nn.Sigmoid(), nn.BatchNorm1d(11, eps=0.01), nn.PReLU(), Sum(nn.Linear(11, 4), nn.Linear(11, 4, bias=False))),
    "wide": nn.Sequential(nn.Linear(5, 150), nn.Tanh(), nn.Linear(150, 17), GRU(17, 50), LSTM(50, 20), nn.Linear(20, 2)),
    "named": Named(),
}

for name, net in NETS.items():
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.2, 3)
                module.weight.normal_()
                module.bias.normal_()
            elif isinstance(module, nn.PReLU):
                module.weight.uniform_(-0.5, 1.5)
        net.eval()
        x = torch.randn(75, {"amp": 1, "odd": 3, "wide": 5, "named": 2}[name])
        save_file({k: v.contiguous() for k, v in net.state_dict().items()}, HERE / f"{name}.safetensors")
        save_file({"x": x, "y": net(x).contiguous()}, HERE / f"{name}.io.safetensors")
