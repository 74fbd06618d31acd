# SPDX-License-Identifier: Apache-2.0
"""The networks in plain torch.nn, written from the papers' tables, for golden values and for comparisons of speed.

network(name, image_size, n_classes, divisor, aux, drop_ratio) makes one. net.tensors lists the parameters in the order in
which gradmark keeps them. In training, forward() returns a list of logits: the network's, then the auxiliary head's.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Network(nn.Module):
    def __init__(self, n_classes, divisor):
        super().__init__()
        self.n_classes, self.divisor = n_classes, divisor
        self.tensors = []
        self.layers = nn.ModuleList()

    def width(self, channels):
        return max(1, channels // self.divisor)

    def add(self, *modules):
        for m in modules:
            self.layers.append(m)
            self.tensors += [p for p in (getattr(m, "weight", None), getattr(m, "bias", None)) if p is not None]
        return nn.Sequential(*modules)

    def batch_unit(self, c_in, c_out, kernel, stride=1, pad=0, epsilon=1e-5, relu=True):
        unit = self.add(nn.Conv2d(c_in, c_out, kernel, stride, pad, bias=False), nn.BatchNorm2d(c_out, eps=epsilon))
        return nn.Sequential(unit, nn.ReLU(inplace=True)) if relu else unit

    def bias_unit(self, c_in, c_out, kernel, stride=1, pad=0):
        return nn.Sequential(self.add(nn.Conv2d(c_in, c_out, kernel, stride, pad)), nn.ReLU(inplace=True))

    def dense(self, n_in, n_out):
        return self.add(nn.Linear(n_in, n_out))


class Lenet(Network):
    def __init__(self, image_size, n_classes, divisor, drop_ratio):
        super().__init__(n_classes, divisor)
        side, a, b, c = image_size // 2 // 2, self.width(16), self.width(32), self.width(64)
        self.c1 = self.bias_unit(1, a, 3, 1, 1)
        self.c2 = self.bias_unit(a, b, 3, 1, 1)
        self.fc3 = self.dense(b * side * side, c)
        self.fc4 = self.dense(c, n_classes)

    def forward(self, x):
        x = F.max_pool2d(self.c1(x), 2, 2)
        x = F.max_pool2d(self.c2(x), 2, 2)
        return [self.fc4(F.relu(self.fc3(x.flatten(1)), inplace=True))]


class Alexnet(Network):
    def __init__(self, image_size, n_classes, divisor, drop_ratio):
        super().__init__(n_classes, divisor)
        w = [self.width(c) for c in (64, 192, 384, 256, 256, 4096, 4096)]
        self.drop_ratio = drop_ratio
        self.c1 = self.bias_unit(3, w[0], 11, 4, 2)
        self.c2 = self.bias_unit(w[0], w[1], 5, 1, 2)
        self.c3 = self.bias_unit(w[1], w[2], 3, 1, 1)
        self.c4 = self.bias_unit(w[2], w[3], 3, 1, 1)
        self.c5 = self.bias_unit(w[3], w[4], 3, 1, 1)
        self.fc6 = self.dense(w[4] * 36, w[5])
        self.fc7 = self.dense(w[5], w[6])
        self.fc8 = self.dense(w[6], n_classes)

    def forward(self, x):
        x = F.max_pool2d(self.c1(x), 3, 2)
        x = F.max_pool2d(self.c2(x), 3, 2)
        x = F.max_pool2d(self.c5(self.c4(self.c3(x))), 3, 2)
        x = F.adaptive_avg_pool2d(x, 6).flatten(1)
        x = F.relu(self.fc6(F.dropout(x, self.drop_ratio, self.training)), inplace=True)
        x = F.relu(self.fc7(F.dropout(x, self.drop_ratio, self.training)), inplace=True)
        return [self.fc8(x)]


class Vgg16(Network):
    def __init__(self, image_size, n_classes, divisor, drop_ratio):
        super().__init__(n_classes, divisor)
        self.drop_ratio = drop_ratio
        self.blocks = nn.ModuleList()
        c_in = 3
        for n_convs, c in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
            block = []
            for _ in range(n_convs):
                block.append(self.bias_unit(c_in, self.width(c), 3, 1, 1))
                c_in = self.width(c)
            self.blocks.append(nn.Sequential(*block))
        hidden = self.width(4096)
        self.fc6 = self.dense(c_in * 49, hidden)
        self.fc7 = self.dense(hidden, hidden)
        self.fc8 = self.dense(hidden, n_classes)

    def forward(self, x):
        for block in self.blocks:
            x = F.max_pool2d(block(x), 2, 2)
        x = F.adaptive_avg_pool2d(x, 7).flatten(1)
        x = F.dropout(F.relu(self.fc6(x), inplace=True), self.drop_ratio, self.training)
        x = F.dropout(F.relu(self.fc7(x), inplace=True), self.drop_ratio, self.training)
        return [self.fc8(x)]


class Block(nn.Module):
    """Residual: around is a projection, or nothing; inside ends without relu."""

    def __init__(self, around, inside):
        super().__init__()
        self.around, self.inside = around, inside

    def forward(self, x):
        y = self.inside(x)
        y += x if self.around is None else self.around(x)
        return F.relu(y, inplace=True)


class Resnet(Network):
    def __init__(self, n_blocks, image_size, n_classes, divisor, drop_ratio):
        super().__init__(n_classes, divisor)
        self.c1 = self.batch_unit(3, self.width(64), 7, 2, 3)
        self.blocks = nn.ModuleList()
        c_in = self.width(64)
        for stage, n in enumerate(n_blocks):
            c, c_out = self.width(64 << stage), self.width(256 << stage)
            for i in range(n):
                stride = 2 if stage > 0 and i == 0 else 1
                around = self.batch_unit(c_in, c_out, 1, stride, relu=False) if i == 0 else None
                inside = nn.Sequential(
                    self.batch_unit(c_in, c, 1),
                    self.batch_unit(c, c, 3, stride, 1),
                    self.batch_unit(c, c_out, 1, relu=False),
                )
                self.blocks.append(Block(around, inside))
                c_in = c_out
        self.fc = self.dense(c_in, n_classes)

    def forward(self, x):
        x = F.max_pool2d(self.c1(x), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return [self.fc(x.mean((2, 3)))]


class Resnet8(Network):
    def __init__(self, image_size, n_classes, divisor, drop_ratio):
        super().__init__(n_classes, divisor)
        c_in = self.width(16)
        self.c1 = self.batch_unit(3, c_in, 3, 1, 1)
        self.blocks = nn.ModuleList()
        for stage in range(3):
            c, stride = self.width(16 << stage), 1 if stage == 0 else 2
            around = self.batch_unit(c_in, c, 1, stride, relu=False) if stage > 0 else None
            inside = nn.Sequential(self.batch_unit(c_in, c, 3, stride, 1), self.batch_unit(c, c, 3, 1, 1, relu=False))
            self.blocks.append(Block(around, inside))
            c_in = c
        self.fc = self.dense(c_in, n_classes)

    def forward(self, x):
        x = self.c1(x)
        for block in self.blocks:
            x = block(x)
        return [self.fc(x.mean((2, 3)))]


class Branches(nn.Module):
    """Concatenates what its parts make of x; a part that is a list (stem, a, b) gives a(stem(x)) and b(stem(x))."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.ModuleList(p if isinstance(p, nn.Module) else nn.ModuleList(p) for p in parts)

    def forward(self, x):
        out = []
        for part in self.parts:
            if isinstance(part, nn.ModuleList):
                stem = part[0](x)
                out += [tip(stem) for tip in list(part)[1:]]
            else:
                out.append(part(x))
        return torch.cat(out, 1)


class Inception3(Network):
    def __init__(self, image_size, n_classes, divisor, drop_ratio, aux):
        super().__init__(n_classes, divisor)
        w = self.width
        self.drop_ratio = drop_ratio

        def unit(c_in, c_out, kernel, stride=1, pad=0):
            return self.batch_unit(c_in, w(c_out), kernel, stride, pad, epsilon=1e-3)

        def chain(c_in, *steps):
            """steps: (channels, kernel height, width[, stride]); stride 2 has no padding, stride 1 keeps the size."""
            units = []
            for c_out, kh, kw, *stride in steps:
                pad = (0, 0) if stride else (kh // 2, kw // 2)
                units.append(unit(c_in, c_out, (kh, kw), stride[0] if stride else 1, pad))
                c_in = w(c_out)
            return nn.Sequential(*units)

        def pooled(c_in, c_out):
            return nn.Sequential(nn.AvgPool2d(3, 1, 1), chain(c_in, (c_out, 1, 1)))

        self.stem = nn.Sequential(
            unit(3, 32, 3, 2), unit(w(32), 32, 3), unit(w(32), 64, 3, 1, 1), nn.MaxPool2d(3, 2),
            unit(w(64), 80, 1), unit(w(80), 192, 3), nn.MaxPool2d(3, 2),
        )
        blocks, c = [], w(192)
        for c_pool in (32, 64, 64):
            blocks.append(Branches(
                chain(c, (64, 1, 1)),
                chain(c, (48, 1, 1), (64, 5, 5)),
                chain(c, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
                pooled(c, c_pool),
            ))
            c = w(64) + w(64) + w(96) + w(c_pool)
        blocks.append(Branches(
            chain(c, (384, 3, 3, 2)),
            chain(c, (64, 1, 1), (96, 3, 3), (96, 3, 3, 2)),
            nn.MaxPool2d(3, 2),
        ))
        c += w(384) + w(96)
        for k in (128, 160, 160, 192):
            blocks.append(Branches(
                chain(c, (192, 1, 1)),
                chain(c, (k, 1, 1), (k, 1, 7), (192, 7, 1)),
                chain(c, (k, 1, 1), (k, 7, 1), (k, 1, 7), (k, 7, 1), (192, 1, 7)),
                pooled(c, 192),
            ))
            c = 4 * w(192)
        self.first = nn.Sequential(*blocks)
        self.aux = None
        if aux:
            self.aux = nn.Sequential(nn.AvgPool2d(5, 3), unit(c, 128, 1), unit(w(128), 768, 5))
            self.aux_fc = self.dense(w(768), n_classes)
        blocks = [Branches(
            chain(c, (192, 1, 1), (320, 3, 3, 2)),
            chain(c, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3, 2)),
            nn.MaxPool2d(3, 2),
        )]
        c += w(320) + w(192)
        for _ in range(2):
            blocks.append(Branches(
                chain(c, (320, 1, 1)),
                [chain(c, (384, 1, 1)), chain(w(384), (384, 1, 3)), chain(w(384), (384, 3, 1))],
                [chain(c, (448, 1, 1), (384, 3, 3)), chain(w(384), (384, 1, 3)), chain(w(384), (384, 3, 1))],
                pooled(c, 192),
            ))
            c = w(320) + 4 * w(384) + w(192)
        self.second = nn.Sequential(*blocks)
        self.fc = self.dense(c, n_classes)

    def forward(self, x):
        x = self.first(self.stem(x))
        aux = [self.aux_fc(self.aux(x).mean((2, 3)))] if self.aux is not None and self.training else []
        x = self.second(x).mean((2, 3))
        return [self.fc(F.dropout(x, self.drop_ratio, self.training))] + aux


PUBLISHED_IMAGE_SIZE = {"lenet": 8, "resnet8": 32, "inception3": 299}  # others: 224
LOSS_WEIGHT = (1.0, 0.4)


def network(name, image_size=0, n_classes=0, divisor=1, aux=False, drop_ratio=0.5):
    image_size = image_size or PUBLISHED_IMAGE_SIZE.get(name, 224)
    n_classes = n_classes or (10 if name in ("lenet", "resnet8") else 1000)
    args = (image_size, n_classes, divisor, drop_ratio)
    n_blocks = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3), "resnet152": (3, 8, 36, 3)}
    if name in n_blocks:
        net = Resnet(n_blocks[name], *args)
    elif name == "inception3":
        net = Inception3(*args, aux)
    else:
        net = {"lenet": Lenet, "alexnet": Alexnet, "vgg16": Vgg16, "resnet8": Resnet8}[name](*args)
    net.image_size = image_size
    net.c_image = 1 if name == "lenet" else 3
    return net


def training_loss(net, x, label):
    """The sum of the losses by weight."""
    return sum(w * F.cross_entropy(logits, label) for w, logits in zip(LOSS_WEIGHT, net(x)))
