"""Compiled rank counting: sort keys, ranks, and inversions with one count per draw.

Inversions are counted from the most significant bits of the ranks downwards. A block of 4096 consecutive ranks is finished in
one sweep: a bitmap records which ranks were seen, and two levels of suffix counters how many were seen in the words above.
Larger inputs are first split, stably, into such blocks. Arrays are 32 bit, totals 64 bit: a sample of 10**7 has 5e13 pairs.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from copula_discrepancy._core.kernels.compiled import compiled

BLOCK_BITS = 12  # 64 words of 64 bits: bitmap and counters (640 bytes) stay in the first-level cache
BLOCK = 1 << BLOCK_BITS
DIGIT_BITS = 8  # 256 write streams per split still fit the second-level TLB
INSERTION_LIMIT = 24  # longer runs of equal 32-bit keys are sorted in pieces of this length, then merged


@intrinsic
def _popcount(typingctx, word):
    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _bits(typingctx, value):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), generate


@compiled(nogil=True, error_model="numpy")
def rank_column(values):
    """Return (order, rank, tied_pairs) of a finite float64 column.

    `order` lists the indices in ascending order, stably; rank[i] counts the draws smaller than draw i; tied_pairs is
    the sum of t(t-1)/2 over the groups of t equal values.
    """
    n = values.size
    keys, packed, lost = _packed_keys(values)
    packed = _radix_sort(packed)
    order = np.empty(n, np.int32)
    rank = np.empty(n, np.int32)
    tied_pairs = np.int64(0)
    start = 0
    while start < n:
        head = packed[start] >> np.uint64(32)
        order[start] = np.int32(packed[start] & np.uint64(0xFFFFFFFF))
        stop = start + 1
        while stop < n and (packed[stop] >> np.uint64(32)) == head:
            order[stop] = np.int32(packed[stop] & np.uint64(0xFFFFFFFF))
            stop += 1
        if stop == start + 1:
            rank[order[start]] = start
        else:
            if lost > 0:
                _sort_run(keys, order[start:stop])
            tied_pairs += _rank_run(keys, order, rank, start, stop)
        start = stop
    return order, rank, tied_pairs


@compiled(nogil=True, error_model="numpy", inline="always")
def _packed_keys(values):
    """Return 64-bit keys ordered like `values`, (top 32 bits of the key, index) words, and the number of lost bits."""
    n = values.size
    sign = np.uint64(1) << np.uint64(63)
    keys = np.empty(n, np.uint64)
    smallest = ~np.uint64(0)
    largest = np.uint64(0)
    for i in range(n):
        b = _bits(values[i] + 0.0)  # + 0.0: minus zero equals zero
        key = ~b if b & sign else b | sign
        keys[i] = key
        smallest = min(smallest, key)
        largest = max(largest, key)
    span = largest - smallest
    lost = np.uint64(0)
    while (span >> lost) > np.uint64(0xFFFFFFFF):
        lost += np.uint64(1)
    packed = np.empty(n, np.uint64)
    for i in range(n):
        packed[i] = (((keys[i] - smallest) >> lost) << np.uint64(32)) | np.uint64(i)
    return keys, packed, lost


@compiled(nogil=True, error_model="numpy", inline="always")
def _radix_sort(words):
    """Sort words by their upper 32 bits, stably: four counting passes, 5 ns per word on any processor."""
    n = words.size
    count = np.empty((4, 256), np.int64)
    count[:] = 0
    for i in range(n):
        key = words[i] >> np.uint64(32)
        for digit in range(4):
            count[digit, (key >> np.uint64(8 * digit)) & np.uint64(255)] += 1
    source = words
    target = np.empty(n, np.uint64)
    for digit in range(4):
        place = count[digit]
        total = np.int64(0)
        fullest = np.int64(0)
        for j in range(256):
            here = place[j]
            place[j] = total
            total += here
            fullest = max(fullest, here)
        if fullest == n:
            continue  # all words have the same digit
        shift = np.uint64(32 + 8 * digit)
        for i in range(n):
            word = source[i]
            bucket = (word >> shift) & np.uint64(255)
            at = place[bucket]
            place[bucket] = at + 1
            target[at] = word
        source, target = target, source
    return source


@compiled(nogil=True, inline="always")
def _sort_run(keys, run):
    """Sort positions by their keys, stably: insertion sort for up to INSERTION_LIMIT of them at a time, then merges."""
    n = run.size
    for start in range(0, n, INSERTION_LIMIT):
        for i in range(start + 1, min(start + INSERTION_LIMIT, n)):
            item = run[i]
            key = keys[item]
            j = i - 1
            while j >= start and keys[run[j]] > key:
                run[j + 1] = run[j]
                j -= 1
            run[j + 1] = item
    width = INSERTION_LIMIT
    if width >= n:
        return
    merged = np.empty(n, np.int32)
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            stop = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, stop):
                if i < middle and (j == stop or keys[run[i]] <= keys[run[j]]):
                    merged[k] = run[i]
                    i += 1
                else:
                    merged[k] = run[j]
                    j += 1
        for k in range(n):
            run[k] = merged[k]
        width *= 2


@compiled(nogil=True, inline="always")
def _rank_run(keys, order, rank, start, stop):
    tied_pairs = np.int64(0)
    first = start
    for k in range(start, stop):
        if keys[order[k]] != keys[order[first]]:
            first = k
        rank[order[k]] = first
        tied_pairs += k - first
    return tied_pairs


@compiled(nogil=True, error_model="numpy")
def _count_inversions(ranks, buffer, ids, id_buffer, counts):
    """Count inversions of a permutation of 0..n-1; `ranks` and `buffer` are overwritten.

    With `counts` of length n, counts[ids[k]] receives the number of larger ranks before position k; with empty
    `ids` and `counts` only the total is computed.
    """
    n = ranks.size
    per_draw = counts.size > 0
    total = np.int64(0)
    bits = 1
    while (1 << bits) < n:
        bits += 1
    source, target = ranks, buffer
    id_source, id_target = ids, id_buffer
    place = np.empty(1 << DIGIT_BITS, np.int32)
    coarse = np.empty(17, np.int32)
    fine = np.empty((16, 17), np.int32)
    while bits > BLOCK_BITS:
        shift = max(bits - DIGIT_BITS, BLOCK_BITS)
        size = 1 << bits
        for start in range(0, n, size):
            stop = min(start + size, n)
            base = start >> shift
            for digit in range(1 << (bits - shift)):
                place[digit] = (base + digit) << shift
            coarse[:] = 0
            fine[:] = 0
            for k in range(start, stop):
                value = source[k]
                digit = np.uint32((value >> shift) - base)
                high = digit >> np.uint32(4)
                low = digit & np.uint32(15)
                larger = coarse[high + np.uint32(1)] + fine[high, low + np.uint32(1)]
                total += larger
                for j in range(16):
                    coarse[j] += np.int32(j <= high)
                row = fine[high]
                for j in range(16):
                    row[j] += np.int32(j <= low)
                at = place[digit]
                place[digit] = at + 1
                target[at] = value
                if per_draw:
                    who = id_source[k]
                    id_target[at] = who
                    counts[who] += larger
        source, target = target, source
        id_source, id_target = id_target, id_source
        bits = shift

    # seen so far in groups of eight words from one on, and in the words of a group from one on; at most 4096
    seen = np.empty(64, np.uint64)
    groups = np.empty(9, np.int16)
    words = np.empty((8, 9), np.int16)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        seen[:] = 0
        groups[:] = 0
        words[:] = 0
        for k in range(start, stop):
            local = np.uint32(source[k] - start)
            word = local >> np.uint32(6)
            bit = np.uint64(local & np.uint32(63))
            mask = np.uint64(1) << bit
            group = word >> np.uint32(3)
            inside = word & np.uint32(7)
            row = words[group]
            larger = np.int32(groups[group + np.uint32(1)]) + np.int32(row[inside + np.uint32(1)])
            larger += np.int32(_popcount((seen[word] >> bit) >> np.uint64(1)))
            seen[word] |= mask
            for j in range(8):
                groups[j] += np.int16(j <= group)
            for j in range(8):
                row[j] += np.int16(j <= inside)
            total += larger
            if per_draw:
                counts[id_source[k]] += larger
    return total


@compiled(nogil=True, error_model="numpy", inline="always")
def _paired(order_x, rank_x, order_y, rank_y, tied):
    """Return the draws sorted by x, then y, and their y ranks in that order, made distinct.

    Equal y get increasing ranks in the order in which they appear, so that no tied pair counts as an inversion.
    """
    n = order_x.size
    ordinal = np.empty(n, np.int32)
    if not tied:
        for k in range(n):
            ordinal[k] = rank_y[order_x[k]]
        return order_x, ordinal
    who = np.empty(n, np.int32)
    filled = np.zeros(n, np.int32)
    for k in range(n):
        i = order_y[k]
        group = rank_x[i]
        who[group + filled[group]] = i
        filled[group] += 1
    filled[:] = 0
    for k in range(n):
        group = rank_y[who[k]]
        ordinal[k] = group + filled[group]
        filled[group] += 1
    return who, ordinal


@compiled(nogil=True, error_model="numpy")
def concordance_total(order_x, rank_x, ties_x, order_y, rank_y, ties_y):
    """Concordant minus discordant pairs of two ranked columns (see `rank_column`)."""
    n = order_x.size
    none = np.empty(0, np.int32)
    who, ordinal = _paired(order_x, rank_x, order_y, rank_y, ties_x + ties_y > 0)
    ties_both = np.int64(0)
    if ties_x > 0 and ties_y > 0:
        first = 0
        for k in range(1, n):
            if rank_x[who[k]] != rank_x[who[first]] or rank_y[who[k]] != rank_y[who[first]]:
                first = k
            ties_both += k - first
    discordant = _count_inversions(ordinal, np.empty(n, np.int32), none, none, none)
    pairs = np.int64(n) * np.int64(n - 1) // 2
    return pairs - ties_x - ties_y + ties_both - 2 * discordant


@compiled(nogil=True, error_model="numpy")
def concordance_counts(order_x, rank_x, ties_x, order_y, rank_y, ties_y):
    """For each draw, the number of draws concordant with it minus the number discordant; ties count as neither."""
    n = order_x.size
    who, ordinal = _paired(order_x, rank_x, order_y, rank_y, ties_x + ties_y > 0)
    larger = np.zeros(n, np.int32)  # draws with a smaller x and a larger y
    places = ordinal.copy()
    _count_inversions(places, np.empty(n, np.int32), who.copy(), np.empty(n, np.int32), larger)
    result = np.empty(n, np.int64)
    if ties_x + ties_y == 0:
        # of the n - 1 others, larger[i] are before and above it, rank_y - rank_x + larger[i] after and below it
        for i in range(n):
            result[i] = n - 1 + 2 * (np.int64(rank_x[i]) - np.int64(rank_y[i])) - 4 * np.int64(larger[i])
        return result
    size_x = np.zeros(n, np.int32)
    size_y = np.zeros(n, np.int32)
    for i in range(n):
        size_x[rank_x[i]] += 1
        size_y[rank_y[i]] += 1
    start = 0
    while start < n:  # runs of draws equal in x and y
        first = who[start]
        stop = start + 1
        while stop < n and rank_x[who[stop]] == rank_x[first] and rank_y[who[stop]] == rank_y[first]:
            stop += 1
        below_x = np.int64(rank_x[first])
        above_x = n - below_x - size_x[below_x]
        below_y = np.int64(rank_y[first])
        left_same_y = ordinal[start] - below_y
        right_same_y = size_y[below_y] - left_same_y - (stop - start)
        same_x_below = start - below_x
        for k in range(start, stop):
            left_above = np.int64(larger[who[k]])
            left_below = below_x - left_above - left_same_y
            right_below = below_y - left_below - same_x_below
            right_above = above_x - right_below - right_same_y
            result[who[k]] = left_below + right_above - left_above - right_below
        start = stop
    return result


@compiled(nogil=True, error_model="numpy")
def concordance_totals(orders, ranks, ties, first, second, out):
    """`concordance_total` for the column pairs (first[k], second[k]); columns are rows of `orders` and `ranks`."""
    for k in range(first.size):
        i = first[k]
        j = second[k]
        out[k] = concordance_total(orders[i], ranks[i], ties[i], orders[j], ranks[j], ties[j])


@compiled(nogil=True, error_model="numpy")
def sums_above(order, rank, values):
    """For each draw, the sum of the values of all larger draws and half that of equal ones (itself included)."""
    n = order.size
    out = np.empty(n)
    above = 0.0
    stop = n
    while stop > 0:
        who = np.uint32(order[np.uint32(stop - 1)])
        start = rank[who]  # a rank counts smaller draws, so it is the start of the group of equal ones
        if start == stop - 1:
            out[who] = above + 0.5 * values[who]
            above += values[who]
            stop = start
            continue
        here = 0.0
        for k in range(start, stop):
            here += values[order[k]]
        for k in range(start, stop):
            out[order[k]] = above + 0.5 * here
        above += here
        stop = start
    return out


@compiled(nogil=True, error_model="numpy")
def leave_out(order, rank, start, stop):
    """Order, ranks and number of tied pairs of a ranked column without the draws from `start` to `stop`, without sorting."""
    size = stop - start
    kept = rank.size - size
    new_order = np.empty(kept, np.int32)
    new_rank = np.empty(kept, np.int32)
    place = 0
    group = 0  # start of the draws with the same value
    last = -1
    ties = 0
    for k in range(rank.size):
        i = order[k]
        if start <= i and i < stop:
            continue
        if rank[i] != last:
            last = rank[i]
            group = place
        ties += place - group
        new = i if i < start else i - size
        new_order[place] = new
        new_rank[new] = group
        place += 1
    return new_order, new_rank, ties


@compiled(nogil=True, error_model="numpy", inline="always")
def group_sizes(rank):
    """How many draws have each rank."""
    sizes = np.zeros(rank.size, np.int32)
    for i in range(rank.size):
        sizes[rank[i]] += 1
    return sizes


@compiled(nogil=True, error_model="numpy", inline="always")
def depths(rank, ties):
    """Twice the mid-rank of every draw, counted from the low end."""
    n = rank.size
    depth = np.empty(n, np.int64)
    for i in range(n):
        depth[i] = 2 * (np.int64(rank[i]) + 1)
    if ties > 0:
        sizes = group_sizes(rank)
        for i in range(n):
            depth[i] += sizes[rank[i]] - 1
    return depth
