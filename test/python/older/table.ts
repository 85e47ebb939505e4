import process from 'node:process';
import type { LeftOut } from '../left-out.ts';

/*
 * What the tests of Python graphs are about that LangGraph does not have before 1.2, with the reasons. All other tests
 * run over the older versions, too.
 */

const STREAMING = 'Event streaming needs LangGraph 1.2.';

/** Files and folders whose servers can't even start. */
const LATER_FILES: Readonly<Record<string, string>> = {
  'test/python/agents.test.ts':
    'The packages of its agents need LangGraph 1.2, and are installed by its own file of requirements.',
  'test/python/encryption.test.ts':
    'Its module imports DecryptResult, which langgraph_sdk has since 0.4. The twins of test/agent/wire/encryption.test.ts show the rest.',
  'test/python/event-streaming.test.ts': STREAMING,
  'test/python/shapes.test.ts':
    'An older LangGraph stores fewer of the values; those of test/python/classes.test.ts are tried with it.',
  'test/agent/event-streaming/': STREAMING,
};

const isOfLater = (file: string): boolean =>
  Object.keys(LATER_FILES).some((name) => file.startsWith(name));

/** It is about what an older LangGraph can't do. */
const OF_OLDER = 'test/python/older-langgraph.test.ts';

/** Its graphs import nothing that LangGraph 0.4 lacks: runs, answers, edits, subgraphs, factories and functions. */
const OF_OLDEST = 'test/python/classes.test.ts';
/** They are of the series before 1.0 alone. */
const BEFORE_1 = [OF_OLDEST, 'test/python/older-sends.test.ts'];

/** Leaves out the files that are about a later LangGraph than GX_TEST_LANGGRAPH names, or else about an older one. */
export const thatItHas = (files: string[]): string[] => {
  const asked = process.env['GX_TEST_LANGGRAPH'];
  if (asked?.startsWith('0.')) return files.filter((file) => BEFORE_1.includes(file));
  return files.filter((file) =>
    asked === undefined ? ![OF_OLDER, ...BEFORE_1.slice(1)].includes(file) : !isOfLater(file),
  );
};

const REMOTE = 'A RemoteGraph streams events since LangGraph 1.2.';
const BY_STREAMING = {
  'every input is read as it was given > event streaming, and the answer to its question':
    STREAMING,
};

export const LATER: Readonly<Record<string, LeftOut>> = {
  'test/python/clients.test.ts': {
    'the Python clients, with graphs in Python > streaming events': STREAMING,
    'the Python clients, with graphs in JavaScript > streaming events':
      'Its langgraph_sdk streams no events.',
    'the Python clients, with graphs in Python > modes_at_once':
      'A tool of its graph streams its output, as they do since 1.2.',
    'the Python clients, with graphs in Python > remote_events': REMOTE,
    'the Python clients, with graphs in Python > plain_remote_events': REMOTE,
  },
  'test/agent/wire/encryption.test.ts': BY_STREAMING,
  'test/agent/wire/encryption-module.test.ts': BY_STREAMING,
  'test/agent/wire/encryption-places.test.ts': BY_STREAMING,
  'test/agent/wire/encryption-contexts.test.ts': {
    'whatever is written is written for a tenant, who is read of the user > every input is read as it was given > event streaming, and the answer to its question':
      STREAMING,
    'two tenants > by commands of event streaming as well': STREAMING,
  },
  ...(process.env['GX_TEST_LANGGRAPH']?.startsWith('0.') && {
    [OF_OLDEST]: {
      'a graph with the storage of the server keeps all that was set on it':
        'Its serializer has no list of classes, and no graph tells it one.',
    },
  }),
};
