// Turns, rounds and medians: the contenders take turns, so that what disturbs the machine disturbs all of them.

/** Seconds per piece of work, round by round, for each contender. */
export async function measured(work, tree, contenders, quick) {
  const samples = new Map(contenders.map(({ name }) => [name, []]));
  const rounds = quick ? Math.ceil(work.rounds / 5) : work.rounds;
  // The first round does not count.
  for (let round = 0; round <= rounds; round += 1) {
    // Who goes first changes, so that none is always after the same one.
    const order = contenders.map((_, at) => contenders[(at + round) % contenders.length]);
    for (const contender of order) {
      const took = await oneRound(work, tree, contender, round);
      if (round > 0) samples.get(contender.name).push(took);
    }
  }
  for (const [name, taken] of samples) console.error(`${tree.name}: ${work.shown}: ${name}: ${(median(taken) * 1e6).toFixed(0)} µs`);
  return samples;
}

async function oneRound(work, tree, contender, round) {
  const plan = [...new Set(work.plan(tree, round))];
  const pieces = plan.length === 1 ? work.plan(tree, round) : plan;
  const answers = [];
  const begun = process.hrtime.bigint();
  for (const piece of pieces) answers.push(await work.act(contender, tree, piece));
  const took = Number(process.hrtime.bigint() - begun) / 1e9;
  pieces.forEach((piece, at) => work.check(tree, piece, answers[at]));
  return took / pieces.length;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
