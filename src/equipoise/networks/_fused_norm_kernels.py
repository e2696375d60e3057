# mypy: ignore-errors
"""Triton's kernels of a batch normalisation: imported only where they are used, for they need a graphics card.

A batch is ``[rows, channels]`` in memory: rows are the pixels of all its pictures. Sums are taken in two stages of a
fixed order, over parts of the rows and then over the parts, so that they come out the same to the last bit every time.
Letters: g is the gradient that arrives, after the ReLU; centred is x - mean, scale is weight * invstd.
"""

import triton
import triton.language as tl

# mypy: ignore-errors


@triton.jit(do_not_specialize=["rows"])
def collect(
    x, means, squares, rows, channels, rows_each, stages: tl.constexpr, block_rows: tl.constexpr,
    block_channels: tl.constexpr,
):  # fmt: skip
    """Mean and sum of squares around it, of each part and channel.

    Sums are taken of what is left after the mean of the part's first tile: a part of T tiles has (shift - mean)^2 of at
    most T times its variance, so that nothing is lost however far from 0 a channel lies.
    """
    part = tl.program_id(0)
    channel = tl.program_id(1) * block_channels + tl.arange(0, block_channels)
    in_channels = channel < channels
    begin = part * rows_each
    end = tl.minimum(begin + rows_each, rows)
    row = begin + tl.arange(0, block_rows)
    mask = (row < end)[:, None] & in_channels[None, :]
    value = tl.load(x + row[:, None] * channels + channel[None, :], mask=mask, other=0.0).to(tl.float32)
    shift = tl.sum(value, axis=0) / tl.minimum(end - begin, block_rows).to(tl.float32)
    left = tl.where(mask, value - shift[None, :], 0.0)
    total = left
    squared = left * left
    for start in tl.range(begin + block_rows, end, block_rows, num_stages=stages):
        row = start + tl.arange(0, block_rows)
        mask = (row < end)[:, None] & in_channels[None, :]
        value = tl.load(x + row[:, None] * channels + channel[None, :], mask=mask, other=0.0).to(tl.float32)
        left = tl.where(mask, value - shift[None, :], 0.0)
        total += left
        squared += left * left
    summed = tl.sum(total, axis=0)
    mean = summed / (end - begin).to(tl.float32)
    offset = part * channels + channel
    tl.store(means + offset, shift + mean, mask=in_channels)
    tl.store(squares + offset, tl.sum(squared, axis=0) - summed * mean, mask=in_channels)


@triton.jit(do_not_specialize=["rows", "parts"])
def settle(
    means, squares, running_mean, running_variance, counted, mean_of, invstd_of, rows, channels, rows_each, parts,
    epsilon, momentum, block_parts: tl.constexpr, block_channels: tl.constexpr,
):  # fmt: skip
    """Merge the parts (Chan et al. 1983); the running statistics move, and one more batch is counted."""
    channel = tl.program_id(0) * block_channels + tl.arange(0, block_channels)
    in_channels = channel < channels
    part = tl.arange(0, block_parts)
    mask = (part < parts)[:, None] & in_channels[None, :]
    offset = part[:, None] * channels + channel[None, :]
    count = tl.where(part < parts, tl.minimum(rows_each, rows - part * rows_each), 0).to(tl.float32)
    number = rows * 1.0
    some = tl.load(means + offset, mask=mask, other=0.0)
    mean = tl.sum(some * count[:, None], axis=0) / number
    deviation = tl.where(mask, some - mean[None, :], 0.0)
    within = tl.sum(tl.load(squares + offset, mask=mask, other=0.0), axis=0)
    squared = tl.maximum(within + tl.sum(deviation * deviation * count[:, None], axis=0), 0.0)
    tl.store(mean_of + channel, mean, mask=in_channels)
    tl.store(invstd_of + channel, 1.0 / tl.sqrt(squared / number + epsilon), mask=in_channels)
    before = tl.load(running_mean + channel, mask=in_channels, other=0.0)
    tl.store(running_mean + channel, before + momentum * (mean - before), mask=in_channels)
    before = tl.load(running_variance + channel, mask=in_channels, other=0.0)
    tl.store(running_variance + channel, before + momentum * (squared / (number - 1.0) - before), mask=in_channels)
    if tl.program_id(0) == 0:
        tl.store(counted, tl.load(counted) + 1)


@triton.jit(do_not_specialize=["rows"])
def normalise(
    x, past, y, mean_of, invstd_of, weight_of, bias_of, rows, channels, add: tl.constexpr, relu: tl.constexpr,
    block_rows: tl.constexpr, block_channels: tl.constexpr,
):  # fmt: skip
    """Write y = centred * scale + bias, what came past added, negatives cut off."""
    row = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    channel = tl.program_id(1) * block_channels + tl.arange(0, block_channels)
    in_channels = channel < channels
    mean = tl.load(mean_of + channel, mask=in_channels, other=0.0)
    scale = tl.load(invstd_of + channel, mask=in_channels, other=0.0) * tl.load(
        weight_of + channel, mask=in_channels, other=0.0
    )
    bias = tl.load(bias_of + channel, mask=in_channels, other=0.0)
    mask = (row < rows)[:, None] & in_channels[None, :]
    offset = row[:, None] * channels + channel[None, :]
    value = tl.load(x + offset, mask=mask, other=0.0).to(tl.float32)
    result = (value - mean[None, :]) * scale[None, :] + bias[None, :]
    if add:
        result += tl.load(past + offset, mask=mask, other=0.0).to(tl.float32)
    if relu:
        # Not a maximum: what is no number stays none, and training stops.
        result = tl.where(result < 0.0, 0.0, result)
    tl.store(y + offset, result.to(y.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["rows"])
def gather(
    gradient, x, y, masked, mean_of, invstd_of, weight_of, bias_of, sums, products, rows, channels, rows_each,
    add: tl.constexpr, relu: tl.constexpr, stages: tl.constexpr, block_rows: tl.constexpr, block_channels: tl.constexpr,
):  # fmt: skip
    """Sum of g and of g * centred, of each part and channel.

    Where something came past, the ReLU's cut is read from y, and g is kept: it is the gradient of what came past.
    Otherwise the cut is found again from x, by the forward pass's own formula.
    """
    part = tl.program_id(0)
    channel = tl.program_id(1) * block_channels + tl.arange(0, block_channels)
    in_channels = channel < channels
    mean = tl.load(mean_of + channel, mask=in_channels, other=0.0)
    scale = tl.load(invstd_of + channel, mask=in_channels, other=0.0) * tl.load(
        weight_of + channel, mask=in_channels, other=0.0
    )
    bias = tl.load(bias_of + channel, mask=in_channels, other=0.0)
    begin = part * rows_each
    end = tl.minimum(begin + rows_each, rows)
    total = tl.zeros((block_rows, block_channels), dtype=tl.float32)
    product = tl.zeros((block_rows, block_channels), dtype=tl.float32)
    for start in tl.range(begin, end, block_rows, num_stages=stages):
        row = start + tl.arange(0, block_rows)
        mask = (row < end)[:, None] & in_channels[None, :]
        offset = row[:, None] * channels + channel[None, :]
        g = tl.load(gradient + offset, mask=mask, other=0.0).to(tl.float32)
        centred = tl.load(x + offset, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
        if add:
            g = tl.where(tl.load(y + offset, mask=mask, other=0.0).to(tl.float32) <= 0.0, 0.0, g)
            tl.store(masked + offset, g.to(masked.dtype.element_ty), mask=mask)
        elif relu:
            g = tl.where(centred * scale[None, :] + bias[None, :] <= 0.0, 0.0, g)
        total += g
        product += g * centred
    offset = part * channels + channel
    tl.store(sums + offset, tl.sum(total, axis=0), mask=in_channels)
    tl.store(products + offset, tl.sum(product, axis=0), mask=in_channels)


@triton.jit(do_not_specialize=["rows", "parts"])
def settle_back(
    sums, products, invstd_of, weight_of, weight_gradient, bias_gradient, slope_of, level_of, rows, channels, parts,
    block_parts: tl.constexpr, block_channels: tl.constexpr,
):  # fmt: skip
    """The gradients of weight and bias, and what dx has of centred (slope) and of 1 (level)."""
    channel = tl.program_id(0) * block_channels + tl.arange(0, block_channels)
    in_channels = channel < channels
    part = tl.arange(0, block_parts)
    mask = (part < parts)[:, None] & in_channels[None, :]
    offset = part[:, None] * channels + channel[None, :]
    total = tl.sum(tl.load(sums + offset, mask=mask, other=0.0), axis=0)
    product = tl.sum(tl.load(products + offset, mask=mask, other=0.0), axis=0)
    invstd = tl.load(invstd_of + channel, mask=in_channels, other=0.0)
    scale = invstd * tl.load(weight_of + channel, mask=in_channels, other=0.0)
    number = rows * 1.0
    tl.store(weight_gradient + channel, product * invstd, mask=in_channels)
    tl.store(bias_gradient + channel, total, mask=in_channels)
    tl.store(slope_of + channel, -scale * invstd * invstd * product / number, mask=in_channels)
    tl.store(level_of + channel, -scale * total / number, mask=in_channels)


@triton.jit(do_not_specialize=["rows"])
def back(
    gradient, x, dx, mean_of, invstd_of, weight_of, bias_of, slope_of, level_of, rows, channels, relu: tl.constexpr,
    block_rows: tl.constexpr, block_channels: tl.constexpr,
):  # fmt: skip
    """Write dx = g * scale + centred * slope + level."""
    row = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    channel = tl.program_id(1) * block_channels + tl.arange(0, block_channels)
    in_channels = channel < channels
    mean = tl.load(mean_of + channel, mask=in_channels, other=0.0)
    scale = tl.load(invstd_of + channel, mask=in_channels, other=0.0) * tl.load(
        weight_of + channel, mask=in_channels, other=0.0
    )
    slope = tl.load(slope_of + channel, mask=in_channels, other=0.0)
    level = tl.load(level_of + channel, mask=in_channels, other=0.0)
    mask = (row < rows)[:, None] & in_channels[None, :]
    offset = row[:, None] * channels + channel[None, :]
    g = tl.load(gradient + offset, mask=mask, other=0.0).to(tl.float32)
    centred = tl.load(x + offset, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
    if relu:
        bias = tl.load(bias_of + channel, mask=in_channels, other=0.0)
        g = tl.where(centred * scale[None, :] + bias[None, :] <= 0.0, 0.0, g)
    result = g * scale[None, :] + centred * slope[None, :] + level[None, :]
    tl.store(dx + offset, result.to(dx.dtype.element_ty), mask=mask)
