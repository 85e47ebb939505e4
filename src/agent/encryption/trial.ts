import { toError, StartError } from '../../errors.ts';
import type { Cipher } from './custom.ts';

/*
 * Before a server takes requests, it has its module encrypt a value of each kind. A handler that counts on a key of its
 * own would fail for each record that lacks that key; a run's settings always do.
 */

const RECORD = {
  note: 'a value of the trial',
  count: 1,
  likes: true,
  list: ['one', { two: 2 }],
  deep: { note: 'deep' },
};
const CONFIG = { configurable: RECORD, metadata: RECORD, tags: ['trial'], recursion_limit: 25 };

/** Values by their kinds and fields, as handlers get them. */
const WHOLE: Record<string, unknown> = {
  'run.key': 'gx',
  'run.kwargs': {
    input: RECORD,
    command: null,
    config: CONFIG,
    context: RECORD,
    stream_mode: ['values'],
    webhook: 'https://hooks.example.com/trial',
    temporary: false,
  },
  'run.error': { error: 'ValueError', message: 'of the trial' },
  'run.events': RECORD,
  'run.feedback': 1,
  'run.webhook': 'https://hooks.example.com/trial',
  'thread.values': RECORD,
  'thread.interrupts': { task: [{ id: 'trial', value: 'May I?' }] },
  'cron.payload': { input: RECORD, config: CONFIG, context: RECORD },
  'cron.owner': { identity: 'trial', permissions: ['read'] },
  'checkpoint.values': ['a value of the trial'],
  'checkpoint.writes': 'a write of the trial',
  'store.value': RECORD,
};

/** Records whose keys stay readable. */
const BY_KEY: Record<string, unknown> = {
  'assistant.config': CONFIG,
  'assistant.configurable': RECORD,
  'assistant.context': RECORD,
  'assistant.metadata': RECORD,
  'thread.metadata': RECORD,
  'run.metadata': RECORD,
  'cron.metadata': RECORD,
  'checkpoint.metadata': { source: 'loop', step: 1, ...RECORD },
};

/** Values that are tried before all others, so that a handler which fails for every one is not logged for each. */
const FIRST = ['run.key', 'run.kwargs'];

/** Throws a `StartError` that says what is wrong with the handlers. Their results are not stored. */
export async function tryCipher(cipher: Cipher): Promise<void> {
  const ask = async (does: 'try' | 'try-keys', of: string, value: unknown): Promise<void> => {
    await cipher({ does, of, text: JSON.stringify(value), context: undefined }).catch(
      (thrown: unknown) => {
        throw new StartError(toError(thrown).message);
      },
    );
  };
  for (const of of FIRST) await ask('try', of, WHOLE[of]);
  await Promise.all([
    ...Object.entries(WHOLE).flatMap(([of, value]) =>
      FIRST.includes(of) ? [] : [ask('try', of, value)],
    ),
    ...Object.entries(BY_KEY).map(([of, value]) => ask('try-keys', of, value)),
  ]);
}
