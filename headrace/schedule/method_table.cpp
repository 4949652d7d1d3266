// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/internal/method_table.h"

#include "headrace/schedule/asynchronous.h"
#include "headrace/schedule/automatic.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/bidirectional.h"
#include "headrace/schedule/bpipe.h"
#include "headrace/schedule/controllable.h"
#include "headrace/schedule/interleaved.h"
#include "headrace/schedule/sliced.h"
#include "headrace/schedule/wave.h"
#include "headrace/schedule/zero_bubble.h"

namespace headrace::internal {
namespace {

LoopedSizes looped(const ScheduleRequest& r) {
  return {r.ranks, r.micro_batches, r.stages_per_rank == 0 ? 2 : r.stages_per_rank, r.group};
}

// p ranks, m micro-batches, v stages per rank, g group, W waves, f pairs, k slices. Bubbles are of
// the makespan at F = B, unless they say otherwise. Peaks are of the worst rank.
std::vector<Entry> make_entries() {
  using R = const ScheduleRequest&;
  return {
      {{"naive", "one micro-batch after the other", "(p-1)/p", "1", "1", "2(p-1)", "any p, m >= 1",
        "model parallelism without a pipeline"},
       kNone,
       [](R r) { return naive(r.ranks, r.micro_batches); }},
      {{"gpipe", "all forwards, then all backwards", "(p-1)/(m+p-1)", "m", "1", "2(p-1)",
        "any p, m >= 1", "Huang et al., GPipe, NeurIPS 2019"},
       kReverse,
       [](R r) { return gpipe(r.ranks, r.micro_batches, r.reverse); }},
      {{"1f1b", "one forward, one backward", "(p-1)/(m+p-1)", "min(m, p)", "1", "2(p-1)",
        "any p, m >= 1", "Narayanan et al., PipeDream-Flush, 2021; Fan et al., DAPPLE, 2021"},
       kInFlight,
       [](R r) { return one_f_one_b(r.ranks, r.micro_batches, r.in_flight); }},
      {{"eager-1f1b", "1F1B with twice the warm-up, which hides latency", "(p-1)/(m+p-1)",
        "min(m, 2p-1)", "1", "2(p-1)", "any p, m >= 1",
        "Fan et al., DAPPLE policy B, 2021; Zhuang et al., MLSys 2023"},
       kInFlight,
       [](R r) { return eager_one_f_one_b(r.ranks, r.micro_batches, r.in_flight); }},
      {{"bpipe", "1F1B that evens out memory between partner ranks", "(p-1)/(m+p-1)",
        "ceil((p+2)/2)", "1", "2(p-1) and evictions", "any p, m >= 1",
        "Kim et al., BPipe, ICML 2023"},
       kNone,
       [](R r) { return bpipe(r.ranks, r.micro_batches); }},
      {{"pipedream", "1F1B that updates after every backward", "0 in the stream", "min(m, p)",
        "p versions on stage 0, p-s on stage s", "2(p-1)", "any p, m >= 1",
        "Narayanan et al., PipeDream, SOSP 2019"},
       kVerticalSync,
       [](R r) { return pipedream(r.ranks, r.micro_batches, r.vertical_sync); }},
      {{"pipedream-2bw", "1F1B that updates every group of micro-batches", "0 in the stream",
        "min(m, p)", "2 versions", "2(p-1)", "group >= p-1 that divides m",
        "Narayanan et al., PipeDream-2BW, ICML 2021"},
       kGroup,
       [](R r) { return pipedream_2bw(r.ranks, r.micro_batches, r.group); }},
      {{"zb-h1", "backward split; weight gradients fill the bubble", "(p-1)/(3m+p-1) at F = I = W",
        "min(m, p)", "1", "2(p-1)", "any p, m >= 1", "Qi et al., Zero Bubble, ICLR 2024"},
       kNone,
       [](R r) { return zero_bubble_h1(r.ranks, r.micro_batches); }},
      {{"zb-h2", "no bubble within the span, for twice the memory", "0 of the span for m >= 2p-1",
        "min(m, 2p-1)", "1", "2(p-1)", "any p, m >= 1", "Qi et al., Zero Bubble, ICLR 2024"},
       kNone,
       [](R r) { return zero_bubble_h2(r.ranks, r.micro_batches); }},
      {{"zb-1p", "automatic, for costs and p activations per rank", "as zb-h1 or less", "p", "1",
        "2(p-1)", "any p, m >= 1", "Qi et al., Zero Bubble, ICLR 2024"},
       kCosts,
       [](R r) { return zero_bubble_auto("zb-1p", r.ranks, r.micro_batches, r.ranks, r.costs); }},
      {{"zb-2p", "automatic, for costs and 2p activations per rank", "near 0 of the span", "2p",
        "1", "2(p-1)", "any p, m >= 1", "Qi et al., Zero Bubble, ICLR 2024"},
       kCosts,
       [](R r) {
         return zero_bubble_auto("zb-2p", r.ranks, r.micro_batches, 2 * r.ranks, r.costs);
       }},
      {{"zb-v", "two stages per rank in a V; no bubble within the span",
        "0 of the span for m >= 2p-1", "min(2m, 2p) of half stages", "1", "4(p-1)",
        "any p, m >= 1; two stages per rank", "Qi et al., Zero Bubble, ICLR 2024"},
       kNone,
       [](R r) { return zero_bubble_v(r.ranks, r.micro_batches); }},
      {{"v-min", "a V with about a third of the activations", "(4p-5)/(6m) at F = I = W, m >= 2p",
        "2 floor((p+4)/3) of half stages", "1", "4(p-1)", "p >= 2, any m >= 1",
        "Qi et al., Controllable memory, NeurIPS 2024"},
       kNone,
       [](R r) { return v_min(r.ranks, r.micro_batches); }},
      {{"v-half", "a V with about half of the activations",
        "(3p-7)/(6m) at F = I = W, even p, m >= 2p", "2 floor((p+2)/2) of half stages", "1",
        "4(p-1)", "p >= 2, any m >= 1", "Qi et al., Controllable memory, NeurIPS 2024"},
       kNone,
       [](R r) { return v_half(r.ranks, r.micro_batches); }},
      {{"interleaved-1f1b", "1F1B over v stages per rank", "(p-1)/(mv+p-1)",
        "min(mv, 2(p-1)+(v-1)g+1) stage parts", "1", "2(pv-1)",
        "groups of p or more; the last one too", "Narayanan et al., Megatron-LM, SC 2021"},
       kStagesPerRank | kGroup,
       [](R r) { return interleaved_one_f_one_b(looped(r)); }},
      {{"looped-bfs", "each stage takes all micro-batches before the next",
        "(p-1)/(mv+p-1) for m >= p", "mv stage parts", "1", "2(pv-1)", "any p, m, v >= 1",
        "Lamy-Poirier, Breadth-first pipeline parallelism, 2022"},
       kStagesPerRank,
       [](R r) {
         return looped_bfs(r.ranks, r.micro_batches,
                           r.stages_per_rank == 0 ? 2 : r.stages_per_rank);
       }},
      {{"interleaved-zb", "interleaved, with the backward split", "(p-1)/(3mv+p-1) at F = I = W",
        "(v-1)g+p stage parts", "1", "2(pv-1)", "groups of p or more; the last one too",
        "PyTorch, ScheduleInterleavedZeroBubble"},
       kStagesPerRank | kGroup,
       [](R r) { return interleaved_zero_bubble(looped(r)); }},
      {{"hanayo", "stages go forth and back over the ranks in waves",
        "(p-1)/(2Wm+p-1) for m a multiple of p", "2Wp stage parts", "1", "4W(p-1)",
        "any p, m, W >= 1", "Liu et al., Hanayo, SC 2023"},
       kWaves,
       [](R r) { return hanayo(r.ranks, r.micro_batches, r.waves == 0 ? 1 : r.waves); }},
      {{"chimera", "micro-batches enter at both ends", "(p-2)/(2m+p-2)", "p", "2f copies",
        "2(p-1) and the sum of gradients", "p even; f divides p/2; m <= p or a multiple of p",
        "Li and Hoefler, Chimera, SC 2021"},
       kPairs,
       [](R r) { return chimera(r.ranks, r.micro_batches, r.pairs == 0 ? 1 : r.pairs); }},
      {{"dualpipe", "both ends, forwards overlap backwards", "(p/2-1)(FB+B-3W) idle", "p+1",
        "2 copies", "2(p-1) and the sum of gradients", "p and m even, m >= 2p",
        "DeepSeek-AI, DualPipe, 2024"},
       kNone,
       [](R r) { return dualpipe(r.ranks, r.micro_batches); }},
      {{"dualpipev", "DualPipe cut in half: a V without copies", "(p-1)(FB+B-3W) idle",
        "2p+1 of half stages", "1", "4(p-1)", "m >= 2p", "Qi, DualPipeV, 2025"},
       kNone,
       [](R r) { return dualpipe_v(r.ranks, r.micro_batches); }},
      {{"terapipe", "GPipe over k slices of the sequence", "(p-1)/(mk+p-1)", "mk slices", "1",
        "2(p-1)k slices", "any p, m, k >= 1", "Li et al., TeraPipe, ICML 2021"},
       kSlices,
       [](R r) { return terapipe(r.ranks, r.micro_batches, r.slices == 0 ? 4 : r.slices); }},
      {{"seq1f1b", "1F1B over k slices of the sequence", "(p-1)/(mk+p-1)", "min(mk, p+k-1) slices",
        "1", "2(p-1)k slices", "any p, m, k >= 1", "Sun et al., Seq1F1B, 2024"},
       kSlices,
       [](R r) { return seq1f1b(r.ranks, r.micro_batches, r.slices == 0 ? 2 : r.slices); }},
      {{"forward-only", "inference", "(p-1)/(mv+p-1)", "1", "1", "pv-1", "any p, m, v >= 1",
        "forwards in pipeline order"},
       kStagesPerRank,
       [](R r) {
         return forward_only(r.ranks, r.micro_batches,
                             r.stages_per_rank == 0 ? 1 : r.stages_per_rank);
       }},
  };
}

}  // namespace

const std::vector<Entry>& entries() {
  static const std::vector<Entry> table = make_entries();
  return table;
}

}  // namespace headrace::internal
