/** Returns numbers from 0 to 1, from a linear congruential generator (Numerical Recipes, chapter 7.1). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const ODD = [
  null,
  true,
  -1,
  1e308,
  '',
  'x'.repeat(5000),
  'ünï\u202e',
  [],
  {},
  [[]],
  { a: { b: [1] } },
  '../..',
  '__proto__',
  'steps',
];

const NAMES = ['__proto__', 'constructor', '', 'params', 'id', '\u202e'];

type Json = Record<string, unknown>;

/** Changes a few places of a value, at any depth. */
export function changed(value: unknown, random: () => number): unknown {
  const pick = <T>(list: T[]): T => list[Math.floor(random() * list.length)]!;
  if (random() < 0.06) return pick(ODD);
  if (Array.isArray(value)) return value.map((one) => changed(one, random));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value as Json).filter(() => random() > 0.04);
  const more = random() < 0.05 ? [[pick(NAMES), pick(ODD)]] : [];
  return Object.fromEntries([
    ...kept.map(([name, part]) => [name, changed(part, random)]),
    ...more,
  ] as [string, unknown][]);
}
