import type { Codec } from '../../encryption/codec.ts';
import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { sleepUnlessAborted } from '../../../pause.ts';
import type { Replacements } from '../../encryption/codec.ts';
import type { Database, Db } from '../base/pool.ts';
import { replaceWord, useKey } from './encryption-keys.ts';
import { MODULE_KEY } from '../../../schema/agent/aes-key-id.ts';
import { buildReplacingCodec } from '../../encryption/custom.ts';
import {
  endPass,
  deleteUnusedKeys,
  loadOlderKeys,
  runRewriteStep,
  takePass,
  type OlderKeys,
  type Pass,
  LEASE_SECONDS,
} from './rewrite.ts';

type Options = {
  db: Database;
  /** The key that encrypts; undefined where nothing does. */
  keyId: string | undefined;
  worker: string;
  log: Log;
};

/** Milliseconds between two looks at the keys. */
const LOOK_EVERY = 5000;
/** Milliseconds between two signs that this process encrypts with its key. */
const SIGN_EVERY = 60_000;
/** The part of the time that a pass leaves to others, in lengths of its own steps. */
const REST = 1;

/**
 * Seals values of earlier keys again, in the background, so that these keys can be dropped. Servers share one pass: the
 * one that has it goes on with it, and its lease passes it on when that one ends.
 */
export class Reencryption {
  readonly #options: Options;
  /** Keys, other than the one that encrypts, of which something may be left; undefined where nothing is encrypted. */
  olderKeys: number | undefined;
  /** Rows that were sealed again here. */
  rewritten = 0;
  #reported = '';
  #signed = -Infinity;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Works until the signal. A process that does not `rewrite` only says which key it encrypts with. Never throws. */
  async run(signal: AbortSignal, rewrites: boolean): Promise<void> {
    const { db, keyId, log } = this.#options;
    const { replacements } = db.codec;
    if (keyId === undefined && replacements === undefined) return;
    const lookOnce = async (): Promise<void> => {
      if (keyId !== undefined) await this.#look(keyId, rewrites, signal);
      if (replacements !== undefined) await this.#replace(replacements, rewrites, signal);
    };
    do
      await lookOnce().catch((error: unknown) =>
        log.warn(
          { err: toError(error) },
          'values of earlier keys could not be encrypted again; the next look tries again',
        ),
      );
    while (await sleepUnlessAborted(LOOK_EVERY, signal));
  }

  async #look(keyId: string, rewrites: boolean, signal: AbortSignal): Promise<void> {
    const { db, worker } = this.#options;
    if (performance.now() - this.#signed > SIGN_EVERY) {
      this.#signed = performance.now();
      await useKey(db, keyId);
    }
    const { all, readable } = await loadOlderKeys(db, keyId);
    this.olderKeys = all.ids.length;
    if (!rewrites || readable.ids.length === 0 || this.#mustWait(readable)) return;
    const pass = await takePass(db, { keyId, older: readable.ids, worker });
    if (pass !== undefined) await this.#runPass(pass, readable.ids, signal);
  }

  /** While a server encrypts with an earlier key, as in a rollout, nothing is ever finished. */
  #mustWait({ ids, used }: OlderKeys): boolean {
    const report = `${used} ${ids.join()}`;
    if (report !== this.#reported)
      this.#options.log.info(
        { keys: ids },
        used
          ? 'values of earlier keys wait: some server still encrypts with them'
          : 'values of earlier keys are encrypted again',
      );
    this.#reported = report;
    return used;
  }

  async #runPass(first: Pass, older: string[], signal: AbortSignal): Promise<void> {
    const ended = await this.#runSteps(first, { codec: this.#options.db.codec, older }, signal);
    if (ended !== undefined) await this.#finish(ended.pass, older, ended.left);
  }

  /** Stores values that the module wants in place of others that it has read. */
  async #replace(
    replacements: Replacements,
    rewrites: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { db, worker, log } = this.#options;
    if (await replacements.areAsked()) await askForReplacements(db);
    const codec = rewrites ? buildReplacingCodec(db.codec) : undefined;
    const first = codec && (await takeReplacements(db, worker));
    if (codec === undefined || first === undefined) return;
    log.info('values are replaced as the decrypt handlers of encryption.path ask for it');
    const ended = await this.#runSteps(first, { codec, older: [MODULE_KEY] }, signal);
    if (ended === undefined) return;
    const { pass, left } = ended;
    log.info(
      { rewritten: pass.rewritten - first.rewritten, left },
      'all values of encryption.path were looked at',
    );
    if (left === 0) await replaceWord(db, replacements);
    await endReplacements(db, worker, left > 0);
  }

  /**
   * Goes through all tables, with rests between the steps. Returns how many rows it left because their threads were
   * busy; undefined if it was stopped, or another server has the pass.
   */
  async #runSteps(
    first: Pass,
    what: { codec: Codec; older: string[] },
    signal: AbortSignal,
  ): Promise<{ pass: Pass; left: number } | undefined> {
    const { db, worker } = this.#options;
    for (let pass = first, left = 0; ;) {
      const began = performance.now();
      const step = await runRewriteStep(db, pass, { ...what, worker });
      this.rewritten += step.pass.rewritten - pass.rewritten;
      left += step.left;
      if (step.isLost) return undefined;
      if (step.isOver) return { pass, left };
      pass = step.pass;
      if (!(await sleepUnlessAborted((performance.now() - began) * REST, signal))) return undefined;
    }
  }

  async #finish(pass: Pass, older: string[], left: number): Promise<void> {
    const { db, worker, log } = this.#options;
    log.info(
      { keys: older, found: pass.found, left, rewritten: pass.rewritten },
      'all tables were searched for values of earlier keys',
    );
    await endPass(db, pass, worker, left > 0);
    if (pass.found > 0) return;
    const gone = await deleteUnusedKeys(db, older);
    this.olderKeys = (this.olderKeys ?? gone.length) - gone.length;
    if (gone.length > 0)
      log.info({ keys: gone }, 'no value of these keys is left; GX_AES_KEY needs them no more');
  }
}

/*
 * The pass that stores the replacements of values that decrypt handlers have read. Any server asks for it, and
 * one that executes runs takes it. It has a row beside those of passes for keys.
 */

const ROW = 'replacements';

/** Seconds between two passes. A module may ask for another value each time that it reads one. */
const REST_SECONDS = 600;
/** Seconds until a pass that had to leave something is repeated. */
const NEXT = 60;

/** Asks for a pass. One that is asked for, or under way, is the same. */
async function askForReplacements(db: Db): Promise<void> {
  await db.query({
    text: `insert into gx.reencryption as p (key_id, older) values ($1, '{asked}')
      on conflict (key_id) do update set older = '{asked}', place = 0, after = '(0,0)', found = 0 where p.older = '{}'`,
    values: [ROW],
  });
}

/** Takes the pass, or goes on with it. Returns undefined where nobody asks, another server has it, or it rests. */
async function takeReplacements(db: Db, worker: string): Promise<Pass | undefined> {
  const [pass] = await db.query<Pass>({
    text: `update gx.reencryption set worker = $2, lease_until = now() + $3 * interval '1 second'
      where key_id = $1 and older = '{asked}' and (lease_until < now() or worker = $2) and not_before <= now()
      returning key_id, place, after, found, rewritten`,
    values: [ROW, worker, LEASE_SECONDS],
  });
  return pass;
}

/** Ends the pass. One that `left` rows whose threads were busy is asked for again. */
async function endReplacements(db: Db, worker: string, left: boolean): Promise<void> {
  await db.query({
    text: `update gx.reencryption set older = $3, place = 0, after = '(0,0)', found = 0, lease_until = now(),
      not_before = now() + $4 * interval '1 second' where key_id = $1 and worker = $2`,
    values: [ROW, worker, left ? ['asked'] : [], left ? NEXT : REST_SECONDS],
  });
}
