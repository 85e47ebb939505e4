import type { Feedback, FeedbackGiven } from '../../../schema/agent/feedback.ts';
import {
  openRows,
  PLAIN,
  SEALED_TEXT,
  type Place,
  readSealContext,
} from '../../encryption/codec.ts';
import type { Db } from '../base/pool.ts';
import {
  getCurrentContext,
  runUnderContext,
  type EncryptionContext,
} from '../../kernel/encryption-context.ts';
import { sealNamedField, sealField } from '../fields/sealed-fields.ts';

/** Seconds that a link to give feedback works, because a person needs time to read the answer. */
const LIFE_SECONDS = 3 * 3600;

export const buildFeedbackPlace = (token: string): Place => ({ kind: 'feedback', of: token });

export type FeedbackToken = { token: string; key: string; url: string };

/** Opens a place for feedback under each key of a run. */
export async function insertFeedbackTokens(
  db: Db,
  run: { run_id: string; thread_id: string },
  tokens: FeedbackToken[],
): Promise<void> {
  await db.query({
    name: 'feedback_insert',
    text: `insert into gx.feedback (token, key, url, run_id, thread_id, expires_at)
      select t.token, t.key, t.url, $4, $5, now() + $6 * interval '1 second' from unnest($1::uuid[], $2::text[], $3::text[]) as t (token, key, url)`,
    values: [
      tokens.map(({ token }) => token),
      tokens.map(({ key }) => key),
      tokens.map(({ url }) => url),
      run.run_id,
      run.thread_id,
      LIFE_SECONDS,
    ],
  });
}

/** Returns, by key, the address at which feedback on the run is given; empty when the run was made without keys. */
export async function loadFeedbackUrls(db: Db, runId: string): Promise<Record<string, string>> {
  const rows = await db.query<{ key: string; url: string }>({
    name: 'feedback_urls',
    text: 'select key, url from gx.feedback where run_id = $1 order by key',
    values: [runId],
  });
  return Object.fromEntries(rows.map(({ key, url }) => [key, url]));
}

/**
 * Keeps the feedback that was given; a second one replaces the first. Returns false when the token is unknown or has
 * expired. A link carries no context, so that of the run counts.
 */
export async function giveFeedback(db: Db, token: string, given: FeedbackGiven): Promise<boolean> {
  const [of] =
    db.codec === PLAIN
      ? []
      : await db.query<{ run_id: string }>({ text: RUN_OF_TOKEN, values: [token] });
  const context = (of && (await loadSealContext(db, of.run_id))) ?? getCurrentContext();
  return runUnderContext(context, () => keepFeedback(db, token, given));
}

const RUN_OF_TOKEN = 'select run_id from gx.feedback where token = $1';

async function keepFeedback(
  db: Db,
  token: string,
  { score, value, comment, correction, metadata }: FeedbackGiven,
): Promise<boolean> {
  const place = buildFeedbackPlace(token);
  const rows = await db.query({
    name: 'feedback_give',
    text: `update gx.feedback set score = $2, value = $3, comment = $4, correction = $5, metadata = $6, given_at = now()
      where token = $1 and expires_at > now() returning 1`,
    values: [
      token,
      typeof score === 'boolean' ? Number(score) : (score ?? null),
      await sealField(db, place, value),
      db.codec.encrypts ? await sealField(db, place, comment) : (comment ?? null),
      await sealField(db, place, correction),
      await sealNamedField(db, 'run.feedback_metadata', metadata),
    ],
  });
  return rows.length > 0;
}

/** A comment is text, which is stored as JSON only where it is sealed. */
const openComment = async (
  { codec }: Db,
  token: string,
  stored: string | null,
): Promise<string | null> =>
  (await codec.open(
    buildFeedbackPlace(token),
    stored?.startsWith(SEALED_TEXT) === true ? JSON.parse(stored) : stored,
  )) as string | null;

/** Returns the feedback that was given on a run, by key. */
export async function listFeedback(db: Db, runId: string): Promise<Feedback[]> {
  const given = await db.query<Feedback & { token: string }>({
    name: 'feedback_list',
    text: `select token, run_id, key, score, value, comment, correction, metadata, given_at from gx.feedback
      where run_id = $1 and given_at is not null order by key`,
    values: [runId],
  });
  const buildPlace = ({ token }: { token: string }): Place => buildFeedbackPlace(token);
  const opened = await openRows(db.codec, given, {
    value: buildPlace,
    correction: buildPlace,
    metadata: 'named',
  });
  return Promise.all(
    opened.map(async ({ token, ...one }) => ({
      ...one,
      comment: await openComment(db, token, one.comment),
    })),
  );
}

export async function deleteUnusedFeedback(db: Db): Promise<void> {
  await db.query({ text: 'delete from gx.feedback where given_at is null and expires_at < now()' });
}

/** Returns the context that the run encrypts under, which stands beside its encrypted call. */
async function loadSealContext(db: Db, runId: string): Promise<EncryptionContext | undefined> {
  if (db.codec === PLAIN) return undefined;
  const [run] = await db.query<{ kwargs: unknown }>({
    text: 'select kwargs from gx.run where run_id = $1',
    values: [runId],
  });
  return readSealContext(run?.kwargs);
}
