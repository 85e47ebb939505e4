import process from 'node:process';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { END, START, StateGraph, Annotation } from '@langchain/langgraph';
import { expect, onTestFinished, test } from 'vitest';
import type { Graph } from '../../../src/agent/graph-thread/load.ts';
import { patchCallbacks, patchMetadata } from '../../../src/agent/graph-thread/quick-callbacks.ts';

const handler = (name: string): never => ({ name }) as never;

/** Returns a manager with handlers, tags and metadata, some of which the calls below do not get. */
function filled(kind: typeof CallbackManager): CallbackManager {
  const manager = new kind('parent-of-all');
  manager.addHandler(handler('inherited'));
  manager.addHandler(handler('own'), false);
  manager.addTags(['inherited']);
  manager.addTags(['own'], false);
  manager.addMetadata({
    assistant_id: 'a',
    shadowed: 'above',
    langgraph_step: 1,
    nothing: undefined,
  });
  manager.addMetadata({ ls_model_name: 'm', shadowed: 'here' }, false);
  return manager;
}

const shown = ({
  handlers,
  inheritableHandlers,
  tags,
  inheritableTags,
  metadata,
  inheritableMetadata,
  ...manager
}: CallbackManager) => ({
  handlers,
  inheritableHandlers,
  tags,
  inheritableTags,
  metadata: Object.entries(metadata),
  inheritableMetadata: Object.entries(inheritableMetadata),
  parent: manager._parentRunId,
});

test('a copy that takes all metadata over at once is equal to that of the library, and leaves its original as it was', () => {
  class Quick extends CallbackManager {}
  patchMetadata(Quick.prototype as never);
  const [plain, quick] = [filled(CallbackManager), filled(Quick)];
  const more = [handler('more')];
  for (const inherit of [true, false])
    expect(shown(quick.copy(more, inherit))).toEqual(shown(plain.copy(more, inherit)));
  expect(shown(quick.copy())).toEqual(shown(plain.copy()));
  expect(shown(quick)).toEqual(shown(plain));
  const copy = quick.copy();
  copy.addMetadata({ later: true });
  copy.removeMetadata({ assistant_id: 'a' });
  expect(quick.metadata).not.toHaveProperty('later');
  expect(quick).toMatchObject({
    metadata: { assistant_id: 'a' },
    inheritableMetadata: { assistant_id: 'a' },
  });
});

test.each<[string, object, boolean?]>([
  ['what it has', { assistant_id: 'a', langgraph_step: 1 }],
  ['what it has, for itself', { assistant_id: 'a' }, false],
  ['another value', { langgraph_step: 2 }],
  ['a new key', { langgraph_step: 1, added: true }, false],
  ['a key without a value', { added: undefined }],
  ['nothing', {}],
])(
  'a manager that is given %s has the metadata that the library gives it',
  (_name, added, inherit) => {
    class Quick extends CallbackManager {}
    patchMetadata(Quick.prototype as never);
    const [plain, quick, given] = [filled(CallbackManager), filled(Quick), { ...added }];
    for (const manager of [plain, quick]) manager.addMetadata(given, inherit);
    expect(shown(quick)).toEqual(shown(plain));
    quick.removeMetadata(given);
    expect(given).toEqual(added);
  },
);

test('an original keeps its metadata where its copy fails', () => {
  class Quick extends CallbackManager {}
  patchMetadata(Quick.prototype as never);
  const manager = filled(Quick);
  const failing = Object.defineProperty({}, 'name', {
    get: () => {
      throw new Error('no name');
    },
  });
  manager.addHandler({ name: 'console_callback_handler' } as never);
  expect(() => manager.copy([failing as never])).toThrow('no name');
  expect(manager.metadata).toMatchObject({ assistant_id: 'a', shadowed: 'here' });
});

const compiled = (): Graph => {
  const state = Annotation.Root({ text: Annotation<string> });
  class OfItsOwn extends StateGraph<(typeof state)['spec']> {}
  const graph = new OfItsOwn(state as never)
    .addNode('node' as never, () => ({ text: 'done' }))
    .addEdge(START, 'node' as never)
    .addEdge('node' as never, END)
    .compile();
  // Each test has a class that was not seen before.
  return Object.setPrototypeOf(
    graph,
    class extends (graph.constructor as typeof Object) {}.prototype,
  ) as Graph;
};

test('the class is found through a graph, once, and not where LangSmith would get a trace of that', async () => {
  const own = CallbackManager.prototype.copy;
  onTestFinished(() => {
    CallbackManager.prototype.copy = own;
    delete process.env['LANGSMITH_TRACING'];
  });
  process.env['LANGSMITH_TRACING'] = 'true';
  await patchCallbacks(compiled());
  expect(CallbackManager.prototype.copy).toBe(own);
  delete process.env['LANGSMITH_TRACING'];
  await patchCallbacks(compiled());
  const quick = CallbackManager.prototype.copy;
  expect(quick).not.toBe(own);
  await patchCallbacks(compiled());
  expect(CallbackManager.prototype.copy).toBe(quick);
});

test.each<[string, Partial<CallbackManager>]>([
  [
    'adds metadata in another way',
    {
      addMetadata(this: CallbackManager, added: Record<string, unknown>) {
        for (const [name, value] of Object.entries(added))
          this.metadata[name.toLowerCase()] = value;
      },
    },
  ],
  [
    'hands all metadata down',
    {
      copy(this: CallbackManager) {
        const made = new CallbackManager('parent-of-all');
        made.metadata = { ...this.metadata };
        made.inheritableMetadata = { ...this.metadata };
        return made;
      },
    },
  ],
  [
    'fails where it copies',
    {
      copy() {
        throw new Error('another signature');
      },
    },
  ],
])('a version of the library that %s is left as it is', async (_name, changed) => {
  const functions = (): unknown[] => [
    CallbackManager.prototype.copy,
    CallbackManager.prototype.addMetadata,
  ];
  const [copy, addMetadata] = functions();
  onTestFinished(() => void Object.assign(CallbackManager.prototype, { copy, addMetadata }));
  Object.assign(CallbackManager.prototype, changed);
  const newer = functions();
  await patchCallbacks(compiled());
  expect(functions()).toEqual(newer);
});

test('a graph that leads to no such class is left alone', async () => {
  const own = CallbackManager.prototype.copy;
  const pipe = (): never => {
    throw new Error('no pipe');
  };
  for (const graph of [{}, { pipe: undefined }, { pipe }, Object.create(null) as object])
    await patchCallbacks(graph);
  expect(CallbackManager.prototype.copy).toBe(own);
});
