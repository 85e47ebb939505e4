/* Random plays for the graph `plays`: what an agent does in a turn, as the message of the user says it. */

/** A call of a tool in pieces: the first one names it, and those behind only go on with its arguments. */
type CallPiece = [index: number, name: string, id: string, args: string];

export type Act = {
  do:
    | 'say'
    | 'call'
    | 'hum'
    | 'tell'
    | 'fan'
    | 'sub'
    | 'ask'
    | 'drop'
    | 'rewrite'
    | 'set'
    | 'write'
    | 'fail';
  id?: string;
  /** Milliseconds before each piece. */
  pause?: number;
  thought?: string[];
  pieces?: string[];
  calls?: CallPiece[];
  acts?: Act[];
  /** The place of a message, as far as there are so many. */
  which?: number;
  items?: string[];
  board?: unknown;
};

/** A source of numbers that are the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Chooses at random, by a seed. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  isLikely(share: number): boolean {
    return this.#random() < share;
  }

  /** Returns a whole number from 0 to the limit, without the limit itself. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  oneOf<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
}

const WORDS = ['one ', 'two ', 'three', '', ' ', 'Ä ', '🎈', '"', '\n', '{}'];

export function makeWords(chance: Chance, most = 5): string[] {
  return Array.from({ length: 1 + chance.below(most) }, () => chance.oneOf(WORDS));
}

function makeValue(chance: Chance, depth = 0): unknown {
  const kind = chance.below(depth > 2 ? 3 : 5);
  if (kind === 0) return chance.below(3);
  if (kind === 1) return chance.oneOf(['a', 'b/c', 'd~e', '']);
  if (kind === 2) return chance.oneOf([null, true, false, 1.5]);
  const size = chance.below(4);
  if (kind === 3) return Array.from({ length: size }, () => makeValue(chance, depth + 1));
  return Object.fromEntries(
    Array.from({ length: size }, () => [
      chance.oneOf(['k', 'l/m', 'n~o', '']),
      makeValue(chance, depth + 1),
    ]),
  );
}

/** `turn`: makes ids that no other turn has. */
type Maker = { chance: Chance; turn: string; pause: number; count: number };

function makeSpoken(maker: Maker): Act {
  const { chance, turn, pause } = maker;
  maker.count += 1;
  return {
    do: 'say',
    pieces: makeWords(chance),
    ...(chance.isLikely(0.3) && { thought: makeWords(chance, 3) }),
    ...(chance.isLikely(0.5) && { id: `ai-${turn}-${maker.count}` }),
    ...(pause > 0 && { pause: chance.below(pause) }),
  };
}

/** Makes calls of tools whose pieces come in any order among each other. */
function makeCalls(maker: Maker): Act {
  const { chance, turn } = maker;
  const isForPage = chance.isLikely(0.2);
  const queues = Array.from({ length: 1 + chance.below(3) }, (_, index): CallPiece[] => {
    maker.count += 1;
    const id = `call-${turn}-${maker.count}`;
    const args = JSON.stringify({ query: makeWords(chance).join('') });
    const name =
      isForPage && index === 0 ? 'paint' : chance.oneOf(['search', 'broken', 'note', 'delegate']);
    const letters = Array.from(args);
    const cut = chance.below(letters.length);
    return chance.isLikely(0.5)
      ? [[index, name, id, args]]
      : [
          [index, name, id, ''],
          [index, '', '', letters.slice(0, cut).join('')],
          [index, '', '', letters.slice(cut).join('')],
        ];
  });
  const calls: CallPiece[] = [];
  while (queues.some(({ length }) => length > 0))
    calls.push(chance.oneOf(queues.filter(({ length }) => length > 0)).shift()!);
  maker.count += 1;
  return {
    do: 'call',
    calls,
    ...(chance.isLikely(0.3) && { pieces: makeWords(chance, 2) }),
    ...(chance.isLikely(0.5) && { id: `ai-${turn}-${maker.count}` }),
    ...(maker.pause > 0 && { pause: chance.below(maker.pause) }),
  };
}

function makeAct(maker: Maker): Act {
  const { chance } = maker;
  const kind = chance.oneOf<Act['do']>([
    'say',
    'say',
    'call',
    'call',
    'hum',
    'tell',
    'fan',
    'fan',
    'sub',
    'ask',
    'drop',
    'rewrite',
    'set',
    'set',
    'write',
    'fail',
  ]);
  switch (kind) {
    case 'say':
      return makeSpoken(maker);
    case 'hum':
    case 'tell': {
      const { thought: _, ...act } = makeSpoken(maker);
      return { ...act, do: kind };
    }
    case 'call':
      return makeCalls(maker);
    case 'fan':
    case 'sub':
      return {
        do: kind,
        acts: Array.from({ length: 1 + chance.below(3) }, () => makeSpoken(maker)),
      };
    case 'ask':
      return { do: 'ask', board: chance.oneOf<unknown>(['Really?', { message: 'May I?' }, 7]) };
    case 'set':
      return {
        do: 'set',
        items: makeWords(chance, 3),
        ...(chance.isLikely(0.7) && { board: makeValue(chance) }),
      };
    case 'write':
      return { do: 'write', board: { name: 'progress', done: chance.below(100) } };
    case 'rewrite':
    case 'drop':
      return { do: kind, which: chance.below(20), pieces: makeWords(chance) };
    default:
      return { do: 'fail', ...(chance.isLikely(0.5) && { pieces: makeWords(chance) }) };
  }
}

/** Returns what the agent does in a turn. `pause`: the most milliseconds between two pieces of a text. */
export const makeActs = (chance: Chance, turn: string, pause = 0): Act[] => {
  const maker = { chance, turn, pause, count: 0 };
  return Array.from({ length: chance.below(6) }, () => makeAct(maker));
};
