import { writeSync } from 'node:fs';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ how: Annotation<string>(), result: Annotation<unknown>() });

const circle = (): object => {
  const one: Record<string, unknown> = { name: 'a circle' };
  one['self'] = one;
  return one;
};

const grow = (): never => {
  const kept: number[][] = [];
  for (;;) kept.push(Array.from({ length: 100_000 }, (_, at) => at + kept.length));
};

const hostile = (): never => {
  throw new Error('do not touch');
};

/* oxlint-disable typescript/only-throw-error -- that is what it is here for */
const failures: Record<string, (emit: (data: unknown) => void) => unknown> = {
  error: () => {
    throw new TypeError('Boo!');
  },
  text: () => {
    throw 'not an error';
  },
  nothing: () => {
    throw undefined;
  },
  null: () => {
    throw null;
  },
  symbol: () => {
    throw Symbol('a sign');
  },
  promise: () => {
    throw Promise.reject(new Error('a promise in flight'));
  },
  hostile: () => {
    throw new Proxy(
      {},
      { get: () => hostile(), getPrototypeOf: () => hostile(), ownKeys: () => hostile() },
    );
  },
  'rejects with nothing': () => Promise.reject(),
  'thrown circle': () => {
    throw circle();
  },
  unprintable: () => {
    throw Object.create(null);
  },
  spin: () => {
    // `writeSync` bypasses the event loop, which does nothing more from here on.
    writeSync(1, 'spinning\n');
    for (;;);
  },
  never: () => new Promise(() => undefined),
  exit: () => process.exit(1),
  // `process.exit` ends in this call. The thread disappears without a word, as after a fault in native code.
  die: () => (process as unknown as { reallyExit(code: number): never }).reallyExit(1),
  memory: grow,
  circle,
  bigint: () => 2n ** 70n,
  function: () => ({ call: () => 1 }),
  characters: () => 'a\u0000b\ud800c',
  'written circle': (emit) => emit(circle()),
  'written trap': (emit) =>
    emit({
      toJSON: () => {
        throw new Error('not to be told');
      },
    }),
  late: () => {
    setTimeout(() => void Promise.reject(new Error('nobody waited for this')), 50);
    setTimeout(() => {
      throw new Error('nobody catches this');
    }, 60);
    return 'done';
  },
};

/** Fails in the ways in which a user's code does. */
export const graph = new StateGraph(State)
  .addNode('fail', async ({ how }, { writer }) => ({
    result: await failures[how]!((data) => writer?.(data)),
  }))
  .addEdge(START, 'fail')
  .addEdge('fail', END)
  .compile();
