import { sealedUnder, PLAIN } from '../../encryption/codec.ts';
import type { EncryptionContext } from '../../kernel/encryption-context.ts';
import type { Db } from '../base/pool.ts';

/** Returns the context that the run encrypts under, which stands beside its encrypted call. */
export async function contextOfRun(db: Db, runId: string): Promise<EncryptionContext | undefined> {
  if (db.codec === PLAIN) return undefined;
  const [run] = await db.query<{ kwargs: unknown }>({ text: 'select kwargs from gx.run where run_id = $1', values: [runId] });
  return sealedUnder(run?.kwargs);
}
